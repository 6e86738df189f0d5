"""The version of this client, which is that of the service it was made for."""

version = "0.1.0"
