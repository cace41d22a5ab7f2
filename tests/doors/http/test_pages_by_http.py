"""GET /api/pages: pages of PDFs, drawn on request by a child process that may die."""

from __future__ import annotations

import os
import shutil
import threading
from concurrent.futures import ThreadPoolExecutor
from io import BytesIO
from pathlib import Path
from urllib.parse import quote

import pytest
from described_vault import file_at, put
from fastapi.testclient import TestClient
from PIL import Image

from chyme.application.app import App
from chyme.documents.pages import pdf_renderer
from chyme.documents.pages.cache import PageCache
from chyme.documents.pages.pdf_renderer import PdfPageRenderer
from chyme.search.match_location import spans_of

pytestmark = pytest.mark.slow

SAMPLES = Path(__file__).parents[2] / "samples"


def page_at(path: str, page: int = 1, width: int = 400) -> str:
    return f"/api/pages/{quote(path)}?page={page}&width={width}"


def test_any_page_of_a_pdf_is_drawn_at_the_requested_width_and_cached(app: App, http: TestClient) -> None:
    path = put(app, "in/contract.pdf", (SAMPLES / "contract.pdf").read_bytes()).path
    answer = http.get(page_at(path, 2))
    assert answer.headers["content-type"] == "image/jpeg" and "sandbox" in answer.headers["content-security-policy"]
    with Image.open(BytesIO(answer.content)) as image:
        assert image.format == "JPEG" and abs(image.width - 400) <= 1
    assert http.get(page_at(path, 2)).content == answer.content and app.page_renderer.drawings == 1
    assert http.get(page_at(path, 2), headers={"If-None-Match": answer.headers["etag"]}).status_code == 304
    cached = os.listdir(app.state / "pages")
    assert cached == [f"{file_at(app, path).hash}-2-400.jpg"]


def test_a_missing_page_is_reported_in_a_sentence(app: App, http: TestClient) -> None:
    pdf = put(app, "contract.pdf", (SAMPLES / "contract.pdf").read_bytes()).path
    text = put(app, "a.txt", b"words").path
    beyond, no_pdf = http.get(page_at(pdf, 999)), http.get(page_at(text))
    assert (beyond.status_code, no_pdf.status_code) == (404, 404)
    assert "has no page 999; it has" in beyond.json()["detail"] and "is not a PDF" in no_pdf.json()["detail"]
    assert http.get(page_at(pdf, 1, 401)).status_code == 400
    assert [http.get(page_at(pdf, page)).status_code for page in (0, -1, 10**30)] == [422, 422, 422]


def test_a_hostile_pdf_costs_one_attempt_and_nothing_else(app: App, http: TestClient) -> None:
    hostile = put(app, "hostile.pdf", b"%PDF-1.7\n" + b"1 0 obj<</Type/Catalog/Pages 1 0 R>>endobj\n" * 1000).path
    fine = put(app, "contract.pdf", (SAMPLES / "contract.pdf").read_bytes()).path
    first = http.get(page_at(hostile))
    assert first.status_code == 404 and "cannot be drawn" in first.json()["detail"]
    tried = app.page_renderer.drawings
    assert http.get(page_at(hostile)).status_code == 404 and app.page_renderer.drawings == tried
    assert http.get(page_at(fine)).status_code == 200


def test_several_requests_for_one_page_share_one_drawing(app: App) -> None:
    path = put(app, "contract.pdf", (SAMPLES / "contract.pdf").read_bytes()).path
    with ThreadPoolExecutor(6) as pool:
        pages = list(pool.map(lambda _: app.page_renderer.render_page(path, 1, 400).data, range(6)))
    assert len(set(pages)) == 1 and app.page_renderer.drawings == 1


def test_only_a_few_requests_may_wait_for_pages(app: App, http: TestClient) -> None:
    path = put(app, "contract.pdf", (SAMPLES / "contract.pdf").read_bytes()).path
    begun, go_on = threading.Event(), threading.Event()

    class Slow(PdfPageRenderer):
        def _request_page(self, key: tuple[str, int, int], file: object, opened: int) -> bytes:
            begun.set()
            go_on.wait(60)
            return pdf_renderer.JPEG

    app.page_renderer = Slow(app.database, app.vault, app.state, spans_of, image_pixels=1)
    with ThreadPoolExecutor(pdf_renderer.WAITING) as pool:
        waiting = [pool.submit(app.page_renderer.render_page, path, 1, 400) for _ in range(pdf_renderer.WAITING)]
        begun.wait(60)
        while app.page_renderer.waiting < pdf_renderer.WAITING:
            begun.wait(0.01)
        answer = http.get(page_at(path, 2))
        go_on.set()
        assert {future.result().data for future in waiting} == {pdf_renderer.JPEG}
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
    assert http.get(page_at(path, 2)).status_code == 200


def test_a_pdf_that_changed_since_is_drawn_as_it_is_and_not_cached(app: App, http: TestClient) -> None:
    path = put(app, "contract.pdf", (SAMPLES / "contract.pdf").read_bytes()).path
    old = http.get(page_at(path)).content
    shutil.copy(SAMPLES / "scanned.pdf", app.vault.root / path)
    assert http.get(page_at(path)).content != old
    assert len(os.listdir(app.state / "pages")) == 1


def test_pages_of_a_file_that_is_deleted_for_good_leave_the_cache(app: App, http: TestClient) -> None:
    path = put(app, "contract.pdf", (SAMPLES / "contract.pdf").read_bytes()).path
    assert http.get(page_at(path)).status_code == 200
    app.trash.put([path])
    assert http.get(page_at(path)).status_code == 404
    app.trash.empty()
    assert os.listdir(app.state / "pages") == []


def test_the_cached_pages_never_outgrow_their_folder(tmp_path: Path) -> None:
    cache = PageCache(tmp_path / "pages", 10_000)
    for number in range(100):
        cache.put("ab" * 32, number + 1, 400, bytes(1000))
    total = sum(path.stat().st_size for path in (tmp_path / "pages").iterdir())
    assert 1000 <= total <= 26_000  # the size is checked every few pages
    assert cache.get("ab" * 32, 100, 400) is not None and cache.get("ab" * 32, 1, 400) is None
    assert cache.get("../../../etc", 1, 400) is None


def test_only_a_few_requests_of_all_vaults_together_may_wait_for_pages(app: App, tmp_path: Path) -> None:
    path = put(app, "contract.pdf", (SAMPLES / "contract.pdf").read_bytes()).path
    go_on = threading.Event()

    class Slow(PdfPageRenderer):
        def _request_page(self, key: tuple[str, int, int], file: object, opened: int) -> bytes:
            go_on.wait(60)
            return pdf_renderer.JPEG

    first, second = (Slow(app.database, app.vault, tmp_path / name, spans_of, image_pixels=1) for name in "ab")
    with ThreadPoolExecutor(pdf_renderer.WAITING) as pool:
        waiting = [pool.submit(first.render_page, path, 1, 400) for _ in range(pdf_renderer.WAITING)]
        while first.waiting < pdf_renderer.WAITING:
            go_on.wait(0.01)
        with pytest.raises(pdf_renderer.TooBusy):
            second.render_page(path, 1, 400)
        go_on.set()
        assert {future.result().data for future in waiting} == {pdf_renderer.JPEG}
