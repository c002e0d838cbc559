"""How far a judge agrees with people: on labelled rows, on preferences between answers, on cases with labels."""
