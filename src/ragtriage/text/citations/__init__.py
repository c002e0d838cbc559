"""What a response cites, found without a judge.

Its marks (`marks`), its list of references (`references`), what the marks name (`names`), and the segments between them
(`segments`).
"""
