"""The installed versions of libraries, for the recipes of digests."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version


def describe_versions(*packages: str) -> str:
    """Each package with its version, or with `missing`."""
    return " ".join(f"{package} {_version(package)}" for package in packages)


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "missing"
