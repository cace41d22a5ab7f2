"""Check the archives in a folder: the wheel has every file of src/chyme and nothing else, and says what it is."""

from __future__ import annotations

import email
import sys
import tarfile
import tomllib
import zipfile
from email.message import Message
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[1]
SOURCE = PROJECT / "src"
FORBIDDEN = ("tests", "demo", "bench", ".ci", ".git", ".venv", "__pycache__", "demo-vault")


def source_files() -> set[str]:
    files = (path for path in (SOURCE / "chyme").rglob("*") if path.is_file())
    return {path.relative_to(SOURCE).as_posix() for path in files if "__pycache__" not in path.parts}


def check_wheel(wheel: Path, project: dict[str, object]) -> list[str]:
    """What is wrong with the wheel."""
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        about = f"chyme-{project['version']}.dist-info"
        missing = {f"{about}/{name}" for name in ("METADATA", "RECORD", "entry_points.txt")} - names
        if missing:
            return [f"not in the wheel: {name}" for name in sorted(missing)]
        metadata = email.message_from_bytes(archive.read(f"{about}/METADATA"))
        entries = archive.read(f"{about}/entry_points.txt").decode()
    packaged = {name for name in names if not name.startswith(f"{about}/")}
    problems = [f"not in the wheel: {name}" for name in sorted(source_files() - packaged)]
    problems += [f"does not belong into the wheel: {name}" for name in sorted(packaged - source_files())]
    for name in ("LICENSE", "NOTICE"):
        if f"{about}/licenses/{name}" not in names:
            problems.append(f"not in the wheel: {name}")
    if "chyme = chyme.doors.cli.main:main" not in entries:
        problems.append("the wheel does not install the command chyme")
    return problems + check_metadata(metadata, project)


def check_metadata(metadata: Message, project: dict[str, object]) -> list[str]:
    """What is wrong with what the wheel says about itself."""
    expected = {
        "Name": project["name"],
        "Version": project["version"],
        "Requires-Python": project["requires-python"],
        "License-Expression": project["license"],
    }
    problems = [
        f"{name} is {metadata[name]}, not {value}" for name, value in expected.items() if metadata[name] != value
    ]
    extras = project["optional-dependencies"]
    assert isinstance(extras, dict)
    if set(metadata.get_all("Provides-Extra", [])) != set(extras):
        problems.append(f"its extras are {metadata.get_all('Provides-Extra')}, not {sorted(extras)}")
    if not str(metadata.get_payload()).startswith("# chyme"):
        problems.append("the README is not its description")
    return problems


def check_sdist(sdist: Path) -> list[str]:
    """What is wrong with the source archive."""
    with tarfile.open(sdist) as archive:
        inside = {name.partition("/")[2] for name in archive.getnames()}
    problems = [f"not in the source archive: {name}" for name in sorted(source_files()) if f"src/{name}" not in inside]
    for name in sorted(inside):
        if Path(name).parts and (Path(name).parts[0] in FORBIDDEN or "__pycache__" in Path(name).parts):
            problems.append(f"does not belong into the source archive: {name}")
    return problems


def main(folder: Path) -> int:
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wheel = folder / f"chyme-{project['version']}-py3-none-any.whl"
    sdist = folder / f"chyme-{project['version']}.tar.gz"
    problems = [f"{path} was not built" for path in (wheel, sdist) if not path.is_file()]
    if not problems:
        problems = check_wheel(wheel, project) + check_sdist(sdist)
    for problem in problems:
        print(problem, file=sys.stderr)
    if not problems:
        print(wheel, sdist, sep="\n")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
