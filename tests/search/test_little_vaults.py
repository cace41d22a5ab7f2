"""With the real model, questions in everyday words find the right note first, even in a very small vault."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from keyword_vault import open_database
from semantic_vault import MeaningShelf

from chyme.errors import EngineUnavailable
from chyme.models.embedding.minilm import NUMBERS, VOCABULARY, EmbeddingSettings, MiniLm, load_minilm
from chyme.models.weights.catalog import EMBEDDING
from chyme.models.weights.folder import path_of

pytestmark = pytest.mark.slow  # each takes little time, but there are many

FOUR = {
    "garage": "The mechanic replaced the front brake discs and the pads, and filled up the fluid.",
    "lease": "The tenant may terminate the lease with three months' notice to the end of a quarter.",
    "bread": "Mix the flour with water and salt, let the dough rest overnight, and bake it in a hot pot.",
    "clinic": "Blood pressure was a little high again; the doctor wants to see the values in six weeks.",
}
FOURTEEN = FOUR | {
    "shopping": "Shopping list: milk, eggs, bread, butter and two lemons.",
    "landlord": "Meeting with the landlord about the broken heating on Tuesday at ten. Bring the rental contract.",
    "lentils": "Recipe for lentil soup: fry onions, add red lentils, cumin and broth, simmer for twenty minutes.",
    "tyres": "The car needs new winter tyres and an oil change before November. Order number KX-4471.",
    "birthday": "Ideas for Anna's birthday: a book about whales, concert tickets, or a cooking course.",
    "dentist": "Dentist appointment moved to the fifth of March. Ask about the crown and the invoice.",
    "lisbon": "Holiday in Portugal: flights booked, hotel in Lisbon near the river, surf lessons on Friday.",
    "python": "Python tip: use a context manager to close files; a generator does not hold everything in memory.",
    "garden": "Garden plan: tomatoes along the south wall, beans behind. Get all of it out before the frost.",
    "budget": "Quarterly budget: marketing is over by eight percent, travel is under, salaries as planned.",
}
THIRTY = FOURTEEN | {
    "insurance": "The insurance covers water damage up to fifty thousand, after a deductible of two hundred.",
    "school": "Parents' evening: maths is getting better, more reading at home, the class trip costs ninety.",
    "bike": "The bicycle chain slips in the smallest gear; the sprocket is worn out and must be changed.",
    "cat": "The cat was vaccinated in May and must come back in a year; she weighs four kilos.",
    "choir": "Rehearsal of the requiem every Thursday; sopranos come half an hour before the others.",
    "wifi": "The router stands in the hall; the password is on its back, and the guest network is off at night.",
    "loan": "The bank offers a mortgage at three and a half percent over fifteen years.",
    "run": "Training for the half marathon: long run on Sunday, intervals on Wednesday, rest in between.",
    "novel": "Chapter one: the lighthouse keeper finds a bottle with a letter that is about his own death.",
    "solar": "Twelve panels on the roof gave four thousand kilowatt hours last year; the inverter is under warranty.",
    "tax": "Send the payslips, the donation receipts and the invoice of the craftsman to the accountant before June.",
    "interview": "Job interview at the publishing house: ask about remote work and who would be my boss.",
    "wine": "The Riesling of 2019 was better than that of 2020: dry, a lot of fruit, a little stone.",
    "testament": "My sister gets the house, my brother the savings; the notary keeps the original.",
    "ladder": "Mrs Okafor rang twice and would like to have her ladder back.",
    "fence": "The neighbours want a higher fence; the town allows one metre eighty at the border.",
}

IN_FOUR = [
    ("giving up an apartment I rent", "lease"),
    ("when can I see it all ending, the contract for the rooms", "lease"),
    ("what is wrong with my health", "clinic"),
    ("what did they fix on the car", "garage"),
    ("how do I make a loaf", "bread"),
    ("brake pads", "garage"),
]
IN_FOURTEEN = [
    ("groceries to buy", "shopping"),
    ("what can I cook with pulses", "lentils"),
    ("who looks after my teeth", "dentist"),
    ("what did the tooth doctor charge", "dentist"),
    ("flying to the seaside in March", "lisbon"),
    ("programming language: how to get all of it out of memory", "python"),
    ("are we spending more than we get", "budget"),
    ("order number of the thing", "tyres"),
    ("tomatos", "garden"),
]
IN_THIRTY = [
    ("giving up an apartment I rent", "lease"),
    ("how do I get online at a friend's place, the internet access code", "wifi"),
    ("new position at a company that makes books", "interview"),
    ("electricity from the sun", "solar"),
    ("my child is doing better in class", "school"),
    ("what does Okafor do for a living", "ladder"),
    ("phone number of the notary", "testament"),
    ("KX-4471 delivery", "tyres"),
    ("craftsman for the bathroom", "tax"),
    ("requiem rehersal", "choir"),
]
PROBES = [
    (len(notes), question, name)
    for notes, questions in ((FOUR, IN_FOUR), (FOURTEEN, IN_FOURTEEN), (THIRTY, IN_THIRTY))
    for question, name in questions
]


# How much rounding may change a cosine, on any CPU, without changing the result of a probe: as much again as int8
# changes the cosine of two texts on average, compared with float32.
ROUNDING = 0.005


@pytest.fixture(scope="module", params=["int8", "float32"])
def embedder(request: pytest.FixtureRequest) -> MiniLm:
    try:
        load_minilm(EmbeddingSettings())
    except EngineUnavailable as error:
        pytest.skip(str(error))
    folder = path_of(EMBEDDING)
    assert folder is not None
    return MiniLm(folder / NUMBERS, (folder / VOCABULARY).read_bytes(), exact=request.param == "float32")


@pytest.fixture(scope="module")
def vaults(tmp_path_factory: pytest.TempPathFactory, embedder: MiniLm) -> Iterator[dict[int, MeaningShelf]]:
    shelves: dict[int, MeaningShelf] = {}
    for notes in (FOUR, FOURTEEN, THIRTY):
        folder: Path = tmp_path_factory.mktemp("little")
        shelves[len(notes)] = shelf = MeaningShelf(open_database(folder / "vault.db"), embedder)
        for name, text in notes.items():
            shelf.put_meant(f"{name}.txt", text)
    yield shelves
    for shelf in shelves.values():
        shelf.db.close()


@pytest.mark.parametrize(("notes", "question", "name"), PROBES)
def test_the_right_note_comes_first_however_a_cpu_rounds(
    vaults: dict[int, MeaningShelf], notes: int, question: str, name: str
) -> None:
    shelf = vaults[notes]
    (file_id,) = shelf.db.execute("SELECT id FROM files WHERE path = ?", (f"{name}.txt",)).fetchone()
    shelf.vectors.against = (file_id, ROUNDING)
    try:
        assert shelf.paths(question)[:1] == [f"{name}.txt"]
    finally:
        shelf.vectors.against = None


def test_int8_and_float32_differ_by_little_more_than_the_probes_allow() -> None:
    folder = path_of(EMBEDDING)
    if folder is None:
        pytest.skip("the weights for embedding are not there; run 'chyme weights embedding'")
    vocabulary = (folder / VOCABULARY).read_bytes()
    int8, exact = (MiniLm(folder / NUMBERS, vocabulary, exact=exact_numbers) for exact_numbers in (False, True))
    notes, questions = list(THIRTY.values()), [question for _, question, _ in PROBES]
    cosines = [model.rows(questions) @ model.rows(notes).T for model in (int8, exact)]
    moved = abs(cosines[0] - cosines[1])
    assert moved.mean() < 1.5 * ROUNDING
    assert moved.max() < 0.03


@pytest.mark.parametrize("question", ["football world cup", "shock wave boundary layer interaction"])
def test_words_of_a_question_about_nothing_here_are_not_corrected_to_known_ones(
    vaults: dict[int, MeaningShelf], question: str
) -> None:
    result = vaults[len(THIRTY)].hybrid(question)
    assert (result.hits, result.corrected) == ((), {})


WATER = {
    "cat": "A photograph of a cat. cat. a cat, in the middle. animal",
    "ducks": "| Year | Freshwater Ducks | Geese | Swans |\n| 2019 | 120 | 45 | 12 |",
    "leak": "Water came through the ceiling; the plumber is told.",
    "plants": "Water the plants twice a week, the ferns every day.",
    "pool": "The pool is closed; water samples go to the town.",
    "coffee": "Two parts water, one part coffee, four minutes.",
}


@pytest.fixture(scope="module")
def water(tmp_path_factory: pytest.TempPathFactory, embedder: MiniLm) -> Iterator[MeaningShelf]:
    shelf = MeaningShelf(open_database(tmp_path_factory.mktemp("water") / "vault.db"), embedder)
    for name, text in WATER.items():
        shelf.put_meant(f"{name}.txt", text)
    yield shelf
    shelf.db.close()


@pytest.mark.parametrize("question", ["animals living in water", "animal living in water"])
def test_the_nearest_files_rank_before_files_that_share_a_word(water: MeaningShelf, question: str) -> None:
    assert water.paths(question, mode="meaning")[0] == "ducks.txt"
    assert water.paths(question)[:2] == ["cat.txt", "ducks.txt"]
