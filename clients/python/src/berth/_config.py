"""Where the service is and with which key: arguments, then the environment, then the profile of the command line."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, NamedTuple, cast
from urllib.parse import urlsplit

from ._errors import BerthConfigurationError

default_base_url = "http://127.0.0.1:8080"


class Settings(NamedTuple):
    """What a client needs to know of its service."""

    base_url: str
    api_key: str | None
    admin_key: str | None


def read_settings(base_url: str | None, api_key: str | None, admin_key: str | None) -> Settings:
    """Returns the settings. The profile is read only if something of it is used."""
    url = base_url or _variable("BERTH_URL")
    key = api_key or _variable("BERTH_API_KEY")
    # A key is sent to the service that it belongs to: that of a profile only goes to the address of the same profile.
    if url is None and key is None:
        profile = _read_profile()
        url, key = profile.get("url"), profile.get("api_key")
    elif key is None:
        profile = _read_profile()
        if profile.get("url") is not None and _plain_url(profile["url"]) == _plain_url(url or ""):
            key = profile.get("api_key")
    return Settings(_plain_url(url or default_base_url), _header_text(key, "API key"), _header_text(admin_key or _variable("BERTH_ADMIN_KEY"), "admin key"))


def _variable(name: str) -> str | None:
    return os.environ.get(name, "").strip() or None


def _plain_url(url: str) -> str:
    try:
        parts = urlsplit(url)
        valid = parts.scheme in ("http", "https") and bool(parts.hostname) and not parts.query and not parts.fragment
        valid = valid and parts.username is None and (parts.port is None or parts.port > 0)
    except ValueError:
        valid = False
    if not valid:
        raise BerthConfigurationError(
            "The address of the service must begin with http:// or https://, and have no user, query or fragment. Set BERTH_URL or base_url.",
            code="invalid_base_url",
        )
    return url.rstrip("/")


def _header_text(value: str | None, what: str) -> str | None:
    value = value.strip() if value else None
    if value and not all("\x21" <= character <= "\x7e" for character in value):
        raise BerthConfigurationError(f"The {what} has characters that no key has. Copy it again.", code="invalid_key")
    return value or None


def config_file() -> Path:
    """The file in which the command line keeps its profiles."""
    folder = os.environ.get("XDG_CONFIG_HOME") or ""
    # A relative path is invalid by the XDG specification, and ignored.
    return (Path(folder) if os.path.isabs(folder) else Path.home() / ".config") / "berth" / "config.json"


def _read_profile() -> dict[str, str]:
    wanted = _variable("BERTH_PROFILE")
    file = config_file()
    try:
        text = file.read_text("utf-8")
    except OSError:
        if wanted:
            raise BerthConfigurationError(f"There is no profile {wanted!r}: {file} cannot be read.", code="profile_missing") from None
        return {}
    try:
        content = _object(json.loads(text))
    except ValueError:
        raise BerthConfigurationError(f"{file} is not valid JSON. Correct it, or sign in again.", code="invalid_profile") from None
    name = wanted or content.get("current") or "default"
    profiles = _object(content.get("profiles"))
    if wanted and wanted not in profiles:
        raise BerthConfigurationError(f"There is no profile {wanted!r} in {file}.", code="profile_missing")
    profile = _object(profiles.get(str(name)))
    return {field: value for field, value in profile.items() if isinstance(value, str) and value}


def _object(value: Any) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}
