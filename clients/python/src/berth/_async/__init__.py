"""The asynchronous client. The synchronous one in `_sync` is written from it."""
