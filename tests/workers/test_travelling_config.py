"""Which part of a vault's configuration reaches a worker, and what a worker takes."""

from __future__ import annotations

import pytest

from chyme.application.digester_config import config_of, without_secrets
from chyme.application.settings import Settings
from chyme.core.children.frames import BadFrame
from chyme.digesters import load
from chyme.workers.abilities import abilities_of, explain_misfits, find_fitting
from chyme.workers.travelling_config import TRAVELS, identity_of, merge, travelling_part

SECRET = "s3cret"


def own(**settings: object) -> dict[str, object]:
    return without_secrets(config_of(Settings(**settings)))  # type: ignore[arg-type]


def test_no_path_program_key_or_number_of_threads_travels() -> None:
    config = config_of(
        Settings(
            llm_url="https://models.example/v1", llm_model="m", llm_key=SECRET, weights_dir="/secret/weights",
            speech_dir="/secret/speech", office="/secret/soffice", browser="/secret/chromium", ocr_threads=7,
            embedding_threads=7, speech_threads=7, child_uid=4321, web_allow="10.9.9.9",
        )
    )  # fmt: skip

    travelled = str(travelling_part(config))

    for private in (SECRET, "secret", "models.example", "threads", "4321", "10.9.9.9", "office'", "program"):
        assert private not in travelled


def test_a_worker_makes_the_same_with_its_own_paths() -> None:
    vault = own(ocr_side=1200, image_pixels=1_000_000, speech_language="de", meaning_passages=10)
    worker = own(weights_dir="", ocr_threads=4, embedding_threads=4)

    wanted = abilities_of(load(vault).registry)
    able = abilities_of(load(merge(worker, travelling_part(vault))).registry)

    assert wanted == able
    assert abilities_of(load(worker).registry)["image-ocr"] != wanted["image-ocr"]


def test_a_worker_without_a_models_weights_does_not_fit() -> None:
    vault, worker = own(), own(weights_dir="/nonexistent")

    wanted = abilities_of(load(vault).registry)
    able = abilities_of(load(merge(worker, travelling_part(vault))).registry)

    fitting = find_fitting(able, wanted, None)
    assert "doc-to-markdown" in fitting
    if Settings().weights_dir == "" and load(vault).registry[4].portable_fingerprint.find("with weights") >= 0:
        assert "speech-recognition" not in fitting
        assert "other weights" in explain_misfits(able, wanted, None)["speech-recognition"]


def test_what_goes_out_or_asks_a_model_is_never_offered() -> None:
    vault = own(llm_url="http://127.0.0.1:1/v1", llm_model="m")
    wanted = abilities_of(load(vault).registry)

    assert not {"url-crawl", "url-crawl-screenshot"} & wanted.keys()
    able = abilities_of(load(merge(own(), travelling_part(vault))).registry)
    assert wanted["classify-document"] != able["classify-document"]


def test_only_what_was_asked_for_fits() -> None:
    abilities = {"image-ocr": "1", "slug": "2"}

    assert find_fitting(abilities, abilities, frozenset({"slug"})) == {"slug": "2"}
    assert explain_misfits(abilities, abilities, frozenset({"slug"})) == {"image-ocr": "not among --only"}


@pytest.mark.parametrize(
    "hostile",
    [
        {"pages": {"office": "/bin/sh"}},
        {"speech": {"model_dir": "/etc"}},
        {"detector": {"weights_dir": "/etc"}},
        {"browser": {"program": "/bin/sh"}},
        {"language": {"url": "http://evil"}},
        {"ocr": {"ocr_languages": "eng --user-words /etc/passwd"}},
        {"ocr": {"ocr_languages": "../../x"}},
        {"ocr": {"ocr_threads": 1000}},
        {"ocr": {"ocr_side": [1]}},
        {"ocr": {"ocr_side": float("inf")}},
        {"ocr": "rapidocr"},
        {"crawl": True},
        {"no such thing": 1},
        [],
        None,
    ],
)
def test_a_worker_refuses_what_is_not_on_the_list(hostile: object) -> None:
    with pytest.raises(BadFrame):
        merge(own(), hostile)


def test_every_part_that_travels_exists() -> None:
    config = own()

    for section, names in TRAVELS.items():
        assert set(names) <= config[section].keys()  # type: ignore[attr-defined]


def test_configurations_have_the_same_name_only_if_they_are_equal() -> None:
    assert identity_of(travelling_part(own())) == identity_of(travelling_part(own(ocr_threads=9)))
    assert identity_of(travelling_part(own())) != identity_of(travelling_part(own(ocr_side=9)))
