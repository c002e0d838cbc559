"""What a response cites, found without a judge.

Its marks (`marks`), its list of references (`references`), what the marks name (`names`), the segments between them
(`segments`), and what a segment is held against (`targets`).
"""
