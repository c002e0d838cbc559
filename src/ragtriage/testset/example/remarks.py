"""What project reports say beside facts: engineers' sentences that name nobody and no figure of the database."""

from __future__ import annotations

SECTIONS: tuple[tuple[str, tuple[str, ...]], ...] = (
    (
        "Ground and foundations",
        (
            "The boreholes met soft clay over dense gravel, as the desk study had led us to expect.",
            "Groundwater stood higher in spring than in autumn, so the pumps were sized for the worse season.",
            "An old brick culvert turned up under the north corner and was bridged with a short slab.",
            "We compared driven and bored piles and chose the ones that disturb the neighbours least.",
            "Settlement stayed within what had been agreed with the owners next door.",
            "The fill near the entrance was loose and had to be replaced by crushed stone.",
            "Trial pits were dug by hand wherever cables were suspected.",
        ),
    ),
    (
        "Structure",
        (
            "A steel frame with timber floors turned out lighter than concrete and quicker to put up.",
            "The longest span was checked for vibration under a crowd walking in step.",
            "Connections were kept simple so that local workshops could make them.",
            "Where the old walls could be kept, they carry the new roof.",
            "Bearings can be reached and replaced without closing the building.",
            "We reduced the steel by about a tenth after the second round of calculations.",
            "Every weld that can't be seen later was tested before it was covered.",
            "The parapet was raised after a comment from the approving engineer.",
        ),
    ),
    (
        "Work on site",
        (
            "A wet winter cost some weeks, most of which were made up before the summer.",
            "Deliveries came in the early morning to keep the street open.",
            "The crane could only be used when the wind allowed it.",
            "There were no accidents with lost time.",
            "Neighbours were told of noisy work a week ahead, and complaints stayed few.",
            "The contractor proposed a different order of pours, which we accepted.",
            "Scaffolding was shared between trades, which saved a second set.",
        ),
    ),
    (
        "Monitoring",
        (
            "Tilt sensors on the adjoining walls report every hour and have stayed calm.",
            "Strain gauges will be left in place so that the owner can watch the structure age.",
            "A survey from a drone replaced two visits with a lifting platform.",
            "The first year of readings agrees with the model.",
            "One sensor drifted and was exchanged.",
        ),
    ),
    (
        "What we learned",
        (
            "Talking to the approving authority early saved a round of drawings.",
            "The model shared between disciplines paid off as soon as the pipes moved.",
            "We would order the long steel members sooner another time.",
            "Sketches by hand settled more questions on site than any drawing.",
            "A list of open questions, kept on one page, was worth more than the minutes.",
            "Reusing formwork from an earlier job was cheaper than anybody had thought.",
        ),
    ),
)
"""Heading → sentences, of which some are drawn."""
