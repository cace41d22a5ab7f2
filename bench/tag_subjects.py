"""Made-up documents about ten subjects, in which everybody calls things by other names."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

# Subject: what there is to say about, and what it is called: singular, plural, other spellings, other words.
SUBJECTS: dict[str, tuple[str, ...]] = {
    "taxes": (
        "tax return|tax returns|income tax return|tax declaration",
        "deduction|deductions|tax deduction",
        "tax office|revenue service|tax authority",
        "receipt|receipts|sales receipt",
        "salary|wages|wage|pay",
        "pension|pensions|retirement pension",
    ),
    "renting": (
        "rental contract|lease|lease agreement|rental agreement",
        "landlord|landlords|property owner",
        "deposit|deposits|security deposit",
        "apartment|flat|apartments|flats",
        "heating costs|heating cost|heating bill",
        "repair|repairs|maintenance",
    ),
    "cars": (
        "car|cars|automobile|automobiles",
        "engine|engines|motor",
        "tyre|tire|tyres|tires",
        "car insurance|auto insurance|vehicle insurance",
        "garage|garages|workshop",
        "petrol|gasoline|fuel",
    ),
    "cooking": (
        "recipe|recipes",
        "soup|soups|broth",
        "bread|loaf|loaves",
        "oven|ovens",
        "vegetable|vegetables|veggies",
        "flavour|flavor|flavours|flavors",
    ),
    "health": (
        "doctor|doctors|physician|physicians",
        "hospital|hospitals|clinic|clinics",
        "health insurance|medical insurance|health-insurance",
        "vaccine|vaccines|vaccination|vaccinations",
        "medication|medications|medicine|medicines",
        "diagnosis|diagnoses",
    ),
    "software": (
        "database|databases|data base",
        "e-mail|email|emails|e-mails",
        "programme|program|programs|programmes",
        "machine learning|machine-learning|statistical learning",
        "website|web site|websites|web sites",
        "bug|bugs|defect|defects",
    ),
    "travel": (
        "flight|flights|plane ticket",
        "hotel|hotels|lodging",
        "passport|passports",
        "holiday|holidays|vacation|vacations",
        "luggage|baggage|suitcase|suitcases",
        "train journey|rail journey|train journeys",
    ),
    "school": (
        "teacher|teachers|schoolteacher",
        "exam|exams|examination|examinations",
        "homework|home-work|home work",
        "mathematics|maths|math",
        "school report|school reports|report card",
        "centre|center|centres|centers",
    ),
    "energy": (
        "solar panel|solar panels|photovoltaic panel",
        "wind turbine|wind turbines|wind mill",
        "electricity|electric power",
        "battery|batteries|accumulator",
        "power plant|power station|power plants",
        "carbon dioxide|co2",
    ),
    "gardening": (
        "garden|gardens",
        "tomato|tomatoes",
        "compost|composting",
        "seedling|seedlings|young plants",
        "pesticide|pesticides|insecticide",
        "watering can|watering cans|sprinkler",
    ),
}
_OPENINGS = (
    "This note is about {a}, and about what {b} has to do with it.",
    "Whoever deals with {a} sooner or later comes across {b}.",
    "A word on {a} before anything else.",
    "Much has been written on {a}, and little on {b}.",
)
_SENTENCES = (
    "We looked at {a} again, because {b} had changed since the spring.",
    "There is no {a} without {b}, as everybody found out last year.",
    "The question of {a} was settled on Tuesday; {b} is still open.",
    "Nobody had told us that {a} would matter more than {b}.",
    "For {a} there are three offers on the table.",
    "In our case {a} came first, then {b}, then {c}.",
    "Please keep whatever concerns {a} for at least two years.",
    "She asked for {a}, but he only knew of {b}.",
    "It is worth comparing {a} with {b} before deciding anything.",
    "Prices for {a} rose, those for {b} fell slightly.",
    "Last week {a} was late, so {b} had to wait.",
    "The best advice on {a} came from a neighbour.",
    "Without {c}, neither {a} nor {b} would have been possible.",
    "A letter concerning {a} arrived, together with one concerning {b}.",
    "If {a} fails, look at {b} first.",
    "Details of {a} can be found further below.",
)


@dataclass(frozen=True, slots=True)
class Written:
    """One made-up document."""

    name: str
    subject: str
    text: str


def documents(each: int, seed: int = 1) -> Iterator[Written]:
    """So many of each subject, in a mixed order; each keeps to its own words for things."""
    made = random.Random(seed)
    wanted = [(subject, number) for subject in SUBJECTS for number in range(each)]
    made.shuffle(wanted)
    for subject, number in wanted:
        spoken = [made.choice(names.split("|")) for names in made.sample(SUBJECTS[subject], 4)]
        first, second = spoken[:2]
        lines = [f"# {first.capitalize()} and {second}", "", made.choice(_OPENINGS).format(a=first, b=second)]
        for paragraph in range(made.randint(3, 5)):
            if paragraph == 2:
                lines += ["", f"## More on {made.choice(spoken)}"]
            said = made.sample(_SENTENCES, 4)
            lines += ["", " ".join(_with(sentence, made, spoken) for sentence in said)]
        yield Written(f"{subject}-{number}.md", subject, "\n".join(lines) + "\n")


def _with(sentence: str, made: random.Random, spoken: list[str]) -> str:
    a, b, c = made.sample(spoken, 3)
    told = sentence.format(a=a, b=b, c=c)
    return told[0].upper() + told[1:]
