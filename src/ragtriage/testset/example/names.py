"""Invented names of people, towns, clients and structures; every combination is used once."""

from __future__ import annotations

FIRST = tuple(
    "Adela Anselm Beata Benno Brisa Caspian Cerys Corvin Dalia Dorian Edda Elric Fenna Florian Gisela Gorran Halla "
    "Hesper Idris Ilka Isolde Jarek Jorun Katya Kester Leonie Linus Maren Mirko Nerys Nils Odile Orrin Petra Quill "
    "Ragna Rufus Saskia Stellan Tamsin Tobin Ulla Viggo Wenda Xenia Yorick Zelda Zoran".split()
)
LAST = tuple(
    "Abelwick Ashgrove Barrowmere Blackthorpe Bremwell Calloway Carrowin Dunmarsh Eastlake Elverton Fairbourne "
    "Fenwarden Garrowby Glenhallow Hartsease Hollinrake Ingleby Ironmere Jessamy Kelderby Kingsholme Larkspire "
    "Lindenow Marlpit Merrowdale Netherby Northmoor Oakhanger Orrinshaw Pellwright Penhallow Quarrington Ravenscar "
    "Redmayne Saltmarsh Selwick Shadwell Stonegarth Tarnbrook Thistlewood Underhay Varley Vexmoor Waldegrave "
    "Westerdale Whitlow Wolfenden Yarrowby".split()
)
TOWNS = tuple(
    "Aldermouth Brackenford Caldmere Dunholt Eskavale Farrowdale Gullhaven Hythemoor Inverloch Kettlewick Lorncastle "
    "Mossbridge Ormsley Quaymouth Rushaven Stormwick Tidewell Vellance Wexcombe Yewborough".split()
)
PLACES = tuple(
    "Amber Wharf|Beacon Hill|Bishop's Lock|Cinder Lane|Copper Quay|Crane Street|Dovecote Green|Drover's Gate|Elm Basin|"
    "Falcon Row|Ferry Point|Glasshouse Yard|Granary Square|Harrow Weir|Heron Marsh|Jubilee Mill|Kiln Rise|Lantern Dock|"
    "Long Meadow|Maltings Court|Millstone Park|Minster Close|Osprey Reach|Otter Bend|Pilgrim's Way|Plover Sands|"
    "Quarry Bank|Rope Walk|Saddler's Row|Sallow Brook|Signal Cliff|Silver Strand|Skylark Common|Slate Harbour|"
    "Smithy Cross|Tannery Vale|Tern Island|Thatcher's End|Tollgate Corner|Weaver's Field".split("|")
)
STRUCTURES = tuple(
    "Aqueduct|Arcade|Archive|Boathouse|Bus Depot|Car Park|Clinic|Cold Store|Concert Hall|Cycle Bridge|Data Centre|"
    "Ferry Terminal|Fire Station|Flood Wall|Footbridge|Gasworks|Grandstand|Heat Plant|Hotel|Ice Rink|Laboratory|"
    "Library|Market Hall|Observatory|Pumping Station|Quay Wall|School|Swimming Baths|Tram Stop|Viaduct|Warehouse|"
    "Winter Garden".split("|")
)
CLIENT_STEMS = tuple(
    "Albacore Arbutus Bellwether Bramling Calyx Corriefold Drumlin Elderspan Falconet Gorseway Halcyon Inglenook "
    "Juniper Kestrelle Lodestar Marram Nightjar Ondine Palisade Quillon Rowanlea Samphire Tamarack Umbra Verity "
    "Wayfarer Yarrow Zephyrine".split()
)
CLIENT_KINDS = (
    ("Brewery", "brewing"),
    ("Clinics", "healthcare"),
    ("Colleges", "education"),
    ("Dairies", "food processing"),
    ("Energy", "power generation"),
    ("Estates", "real estate"),
    ("Hotels", "hospitality"),
    ("Housing Trust", "social housing"),
    ("Logistics", "freight"),
    ("Mutual", "insurance"),
    ("Rail", "public transport"),
    ("Retail Group", "retail"),
    ("Software", "technology"),
    ("Studios", "film production"),
    ("Textiles", "textile manufacturing"),
    ("Water", "water supply"),
)
"""What a client's name ends in, and its industry."""

COMPANY = "Ostrand Keel"
DEPARTMENTS = (
    ("Bridges", "bridge engineer"),
    ("Buildings", "structural engineer"),
    ("Water and Coast", "coastal engineer"),
    ("Ground Engineering", "geotechnical engineer"),
    ("Monitoring", "structural health analyst"),
)
"""Departments, and what most people there are."""

ROLES = ("design lead", "site supervisor", "ground specialist", "quality reviewer")
"""What people do in a project, beside directing and managing it; nobody does two of them in one."""
