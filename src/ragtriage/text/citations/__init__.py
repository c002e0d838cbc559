"""What a response cites, found without a judge.

Its marks (`marks`), its list of references and what the marks name (`references`), its text without marks
and the segments between marks (`segments`).
"""
