"""The plain loop that crawling is held against: python -m bench.page_loop text|pictures ADDRESS …"""

from __future__ import annotations

import sys
import urllib.request


def main() -> None:
    what, *addresses = sys.argv[1:]
    if what == "text":
        _texts(addresses)
    else:
        _pictures(addresses)


def _texts(addresses: list[str]) -> None:
    """Fetched by urllib, read by trafilatura: no copy, no metadata, no guard, no database."""
    import trafilatura

    plain = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    for address in addresses:
        with plain.open(address, timeout=30) as answer:
            page = answer.read().decode()
        if not trafilatura.extract(page, output_format="markdown", include_links=True, include_tables=True):
            raise RuntimeError(f"{address}: nothing was read")


def _pictures(addresses: list[str]) -> None:
    """One Chromium, one page after the other, nothing kept."""
    from chyme.core.outbound.guard import Guard
    from chyme.core.outbound.policy import policy_of
    from chyme.webpages.browser.browser import Browser
    from chyme.webpages.settings import BrowserSettings

    browser = Browser(BrowserSettings())
    guard = Guard(policy_of(addresses[0].split("/")[2]), delay=0)
    try:
        for address in addresses:
            if browser.visit(address, guard, address).screenshot is None:
                raise RuntimeError(f"{address}: no picture")
    finally:
        browser.close()


if __name__ == "__main__":
    main()
