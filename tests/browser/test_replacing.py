"""Replacing a part of a page in a real browser: the user's input and focus there stay."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from visiting import House, script, served

pytestmark = pytest.mark.slow

PART = """
<input id="words" value=""><input id="sent" value="as sent"><input type="checkbox" data-key="box">
<textarea data-key="note"></textarea>
<details data-key="closed"><summary>Closed</summary>c</details>
<details data-key="opened" open><summary>Opened</summary>o</details>
<div id="menu" popover>Menu</div>
<textarea id="scrolled" rows="2">1
2
3
4
5
6
7
8
9
10</textarea>
<ul>
  <li data-tag="one"><a href="#1" data-key="name">one</a><button data-key="ban">Ban one</button></li>
  <li data-tag="two"><a href="#2" data-key="name">two</a><button data-key="ban">Ban two</button></li>
  <li data-tag="three"><a href="#3" data-key="name">three</a><button data-key="ban">Ban three</button></li>
</ul>
<button aria-label="Without a key">x</button>
"""


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    with served(tmp_path_factory.mktemp("replacing")) as house:
        yield house


@pytest.fixture
def part(house: House, page: Page) -> Page:
    """A page with a part, and `replace(html, options)` for it."""
    page.goto(house.base + "/trash")
    page.evaluate(
        f"""async html => {{
            const {{ replaceContent, replaceElement }} = await import("{script(page, "replace")}");
            const holder = document.createElement("section");
            holder.id = "part";
            holder.innerHTML = html;
            document.getElementById("main").replaceChildren(holder);
            window.replace = (fresh, options = {{}}) => {{
                const template = document.createElement("template");
                template.innerHTML = fresh;
                const old = options.element && document.querySelector(options.element);
                if (old) replaceElement(old, template.content.firstElementChild, options);
                else replaceContent(document.getElementById("part"), template.content, options);
            }};
        }}""",
        PART,
    )
    return page


def replace(page: Page, html: str = PART, **options: Any) -> None:
    page.evaluate("document.querySelectorAll('#part *').forEach(one => { one.isOld = true; })")
    page.evaluate("([html, options]) => replace(html, options)", [html, options])


def active(page: Page) -> str:
    """The label or text of the focused element."""
    return str(page.evaluate("document.activeElement.getAttribute('aria-label') || document.activeElement.textContent"))


def test_typed_ticked_opened_closed_and_scrolled_state_stays(part: Page) -> None:
    part.locator("#words").fill("half a wo")
    part.locator("[data-key=note]").fill("a note")
    part.locator("[data-key=box]").check()
    part.get_by_text("Closed").click()
    part.get_by_text("Opened").click()
    part.evaluate("document.getElementById('menu').showPopover()")
    part.evaluate("document.getElementById('scrolled').scrollTop = 50")
    replace(part, PART.replace("as sent", "newer"))
    assert not part.evaluate("[...document.querySelectorAll('#part *')].some(one => one.isOld)")
    expect(part.locator("#words")).to_have_value("half a wo")
    expect(part.locator("[data-key=note]")).to_have_value("a note")
    expect(part.locator("#sent")).to_have_value("newer")  # it was not changed
    expect(part.locator("[data-key=box]")).to_be_checked()
    expect(part.locator("[data-key=closed]")).to_have_attribute("open", "")
    expect(part.locator("[data-key=opened]")).not_to_have_attribute("open", "")
    expect(part.locator("#menu")).to_be_visible()
    assert part.evaluate("document.getElementById('scrolled').scrollTop") == 50


def test_the_focus_and_the_selection_stay_in_a_field(part: Page) -> None:
    part.locator("#words").fill("half a word")
    part.evaluate("document.getElementById('words').setSelectionRange(2, 4)")
    replace(part)
    expect(part.locator("#words")).to_be_focused()
    assert part.evaluate("[words.selectionStart, words.selectionEnd]") == [2, 4]


@pytest.mark.parametrize("selector", ["[data-tag=two] [data-key=ban]", "[aria-label='Without a key']", "summary"])
def test_the_focus_stays_on_the_same_control(part: Page, selector: str) -> None:
    part.locator(selector).first.focus()
    before = active(part)
    replace(part, PART.replace('<li data-tag="one">', '<li data-tag="new"><a href="#">new</a></li><li data-tag="one">'))
    assert active(part) == before
    assert not part.evaluate("Boolean(document.activeElement.isOld)")


def test_without_its_row_the_focus_goes_to_the_next_or_to_the_first_control(part: Page) -> None:
    without_two = PART.replace(PART[PART.index('  <li data-tag="two">') : PART.index('  <li data-tag="three">')], "")
    part.locator("[data-tag=two] [data-key=ban]").focus()
    replace(part, without_two, usesNextRow=True)
    assert active(part) == "Ban three"
    replace(part, PART)
    part.locator("[data-tag=two] [data-key=ban]").focus()
    replace(part, without_two)
    assert active(part) == "one"
    part.locator("[data-tag=three] [data-key=ban]").focus()
    replace(part, without_two.replace('data-key="ban"', 'data-key="ban" disabled'))
    assert active(part) == "one"
    replace(part, "<p>Nothing is left.</p>")
    expect(part.locator("#main")).to_be_focused()


def test_without_its_control_the_focus_stays_in_its_row(part: Page) -> None:
    part.locator("[data-tag=two] [data-key=ban]").focus()
    replace(part, PART.replace('<button data-key="ban">Ban two</button>', ""), usesNextRow=True)
    assert active(part) == "two"


def test_a_part_that_has_the_focus_itself_keeps_it(part: Page) -> None:
    part.evaluate("Object.assign(document.getElementById('part'), {tabIndex: -1}).focus()")
    replace(part)
    expect(part.locator("#part")).to_be_focused()


def test_another_row_can_take_the_focus(part: Page) -> None:
    replace(part, goTo={"row": "data-tag=three", "key": "name"})
    assert active(part) == "three"
    part.locator("[data-tag=one] [data-key=ban]").focus()
    replace(part, goTo={"row": "data-tag=two", "key": "name"})
    assert active(part) == "Ban two"  # the same control as before


def test_a_focus_elsewhere_is_left_alone(part: Page) -> None:
    part.locator("#search").focus()
    replace(part)
    expect(part.locator("#search")).to_be_focused()


def test_a_single_element_is_replaced_and_keeps_its_state(part: Page) -> None:
    part.get_by_text("Closed").click()
    replace(part, '<details data-key="closed"><summary>Closed</summary>d</details>', element="[data-key=closed]")
    expect(part.locator("[data-key=closed]")).to_have_attribute("open", "")
    assert active(part) == "Closed"
