"""What the recorded applications know: the leaflets of an invented ferry company, its questions and its answers.

No tool is imported here; every recorder gives these texts to the tool's own retrievers and fake models.
"""

import re
from dataclasses import dataclass

LEAFLETS = {
    "fares-1": "A return ticket from Norrhamn to Skarvö costs 18 euros. Children under seven travel free of charge.",
    "fares-2": "Bicycles cost 4 euros for each crossing and are paid for on board.",
    "dogs-1": "Dogs travel on the upper deck. Guide dogs may enter the saloon.",
    "storm-1": "Ferries stay in the harbour from wind force 9 on. Tickets then stay valid for 30 days.",
    "quay-1": "The ferry to Skarvö leaves from quay 3 at 7:15, 11:00 and 16:40.",
    "lost-1": "Lost property is kept for 60 days in the office on quay 1.",
}
TIMETABLE = ("quay-1", "storm-1")  # what the timetable's own index holds; the other leaflets are in the handbook's


@dataclass(frozen=True)
class Asked:
    """A question, the ids of the leaflets that are found for it, best first, and the answer."""

    query: str
    found: tuple[str, ...]
    answer: str

    @property
    def sources(self) -> list[tuple[str, str]]:
        """The leaflets found: (id, text)."""
        return [(one, LEAFLETS[one]) for one in self.found]

    @property
    def files(self) -> list[tuple[str, str]]:
        """The same under the names of their files."""
        return [(f"{one}.md", LEAFLETS[one]) for one in self.found]

    @property
    def texts(self) -> list[tuple[None, str]]:
        """The same, for tools that record no id."""
        return [(None, LEAFLETS[one]) for one in self.found]


PRICE = Asked("What does a return ticket to Skarvö cost?", ("fares-1", "fares-2"), "A return ticket costs 18 euros.")
DOGS = Asked("Where may my dog travel?", ("dogs-1",), "Dogs travel on the upper deck, guide dogs also in the saloon.")
STORM = Asked("What happens in a storm?", ("storm-1", "quay-1"), "From wind force 9 on no ferry leaves.")
LOST = Asked("Wo finde ich meinen Schirm?", ("lost-1",), "Im Büro an Kai 1; dort liegt er 60 Tage lang.")
QUAY = Asked("From which quay does the ferry leave?", ("quay-1",), "It leaves from quay 3.")
NOTHING = Asked("Do you sell season tickets?", (), "The leaflets say nothing about season tickets.")
ALL = (PRICE, DOGS, STORM, LOST, QUAY, NOTHING)


def asked(text: str) -> Asked:
    """The question that stands last in a text.

    Raises:
        LookupError: none stands in it.
    """
    places = {text.rfind(one.query): one for one in ALL}
    place = max(places)
    if place < 0:
        raise LookupError(f"no known question in {text!r}")
    return places[place]


def score(query: str, leaflet: str) -> float:
    """How many of the query's words stand in a leaflet: a share in [0, 1], in 4 decimals."""
    words = set(re.findall(r"\w+", query.lower()))
    return round(len(words & set(re.findall(r"\w+", LEAFLETS[leaflet].lower()))) / len(words), 4)
