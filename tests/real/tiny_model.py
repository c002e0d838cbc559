"""A language model of a few megabytes, written from nothing: its answers are noise, but they end.

It is a complete Llama: a vocabulary of bytes that takes any text and can write any JSON, attention, a context of 32,768
tokens, a chat template. The layers are random. The last matrix holds a table of which token follows which, so that a
reply comes to an end: letters rise in the alphabet until a quotation mark closes the word, lists close after one item.
Held to a schema, it writes short nonsense of that schema, another for another prompt. Let free, it first says something
that isn't JSON; asked again, it writes a reply that answers the first twelve questions of any request.

    python tiny_model.py tiny.gguf
"""

import itertools
import string
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from gguf import GGUFWriter, TokenType

CONTEXT = 32_768
WIDTH = 320
LAYERS = 2
HEADS = 4
SPREADS = {"attn_q": 0.2, "attn_k": 0.2, "attn_v": 0.05, "attn_output": 0.004,
           "ffn_gate": 0.05, "ffn_up": 0.05, "ffn_down": 0.0005}  # fmt: skip
"""The spreads of random weights. Sharp attention picks other tokens for another prompt; what it adds is quiet beside
the table: enough for other words, not enough for endless ones."""

BEGIN, END, TURN, REPLY, AGAIN = "<s>", "</s>", "<|turn|>", "<|reply|>", "<|again|>"
TEMPLATE = (
    "{% for m in messages %}<|turn|>{{ m['role'] }}: {{ m['content'] }}\n{% endfor %}"
    "{{ '<|again|>' if messages | length > 2 else '<|reply|>' }}"
)
REFUSED = "Let▁me▁see."
VERDICTS = ("yes", "no", "unknown")
FREE = (
    '{"claims":["some▁claim"],',
    '"remarks":[],"facts":["a▁fact"],',
    '"questions":["a▁question?"],',
    '"standalone":"a▁question?",',
    *(
        piece
        for n in range(1, 13)
        for piece in (
            f'"q{n}":{{"why":"hm","quote":"",',
            "▁" * (n % 4) + f'"verdict":"{VERDICTS[n % 3]}"}},' + "▁" * (n // 4),
        )
    ),
    '"questions_answered_by":',
    '["a▁question?"]}',
)
"""The pieces of the reply without a schema, each a token of its own and of at most 32 bytes."""

CONTROL = (BEGIN, END, TURN, REPLY, AGAIN)
TOKENS = ("<unk>", *CONTROL, *(f"<0x{byte:02X}>" for byte in range(256)), "▁", REFUSED, *FREE)
PLACE = {token: place for place, token in enumerate(TOKENS)}


def kind_of(token: str) -> TokenType:
    """What the vocabulary says about a token."""
    if token == "<unk>":
        return TokenType.UNKNOWN
    if token in CONTROL:
        return TokenType.CONTROL
    return TokenType.BYTE if token.startswith("<0x") else TokenType.NORMAL


def byte(character: str) -> int:
    """The place of an ASCII character in the vocabulary."""
    return PLACE[f"<0x{ord(character):02X}>"]


def followers(rng: np.random.Generator) -> Iterator[tuple[int, int, float]]:
    """(token, token that may follow it, how gladly); what isn't named here has 0."""
    letters = string.ascii_lowercase
    for place, letter in enumerate(letters):
        yield byte('"'), byte(letter), 7 if letter in "yun" else 6 + 0.9 * rng.random()
        yield byte(letter), byte('"'), 5.5
        for later in letters[place + 1 :]:
            yield byte(letter), byte(later), 4 + 2 * rng.random()
    for mark, following in {'"': ":]},", "{": '"', "[": '"', ":": '"{[', ",": '"', "}": "},", "]": "},"}.items():
        for rank, character in enumerate(following):
            yield byte(mark), byte(character), 6 - rank
    for digit in string.digits:
        yield byte(digit), byte('"'), 6.0
    for end in "}]":
        yield byte(end), PLACE[END], 1.5
    yield PLACE[REPLY], PLACE[REFUSED], 12.0
    yield PLACE[REPLY], byte("{"), 6.0
    yield PLACE[AGAIN], byte("{"), 6.0
    for one, following in itertools.pairwise((AGAIN, *FREE, END)):
        yield PLACE[one], PLACE[following], 12.0
    yield PLACE[REFUSED], PLACE[END], 12.0


def write_model(path: Path, seed: int = 0) -> None:
    """Write the model; the same seed gives the same bytes."""
    rng = np.random.default_rng(seed)

    size = len(TOKENS)
    table = np.zeros((size, WIDTH), np.float32)
    for token, following, gladly in followers(rng):
        table[following, token] = gladly / np.sqrt(WIDTH)  # the last norm makes a single one as long as this root
    model = GGUFWriter(path, "llama")
    model.add_name("tiny")
    model.add_context_length(CONTEXT)
    model.add_embedding_length(WIDTH)
    model.add_block_count(LAYERS)
    model.add_feed_forward_length(WIDTH)
    model.add_head_count(HEADS)
    model.add_head_count_kv(HEADS)
    model.add_rope_dimension_count(WIDTH // HEADS)
    model.add_layer_norm_rms_eps(1e-5)
    model.add_vocab_size(size)
    model.add_tokenizer_model("llama")
    model.add_token_list(TOKENS)
    model.add_token_scores([0.0] * size)
    model.add_token_types([kind_of(token) for token in TOKENS])
    model.add_bos_token_id(PLACE[BEGIN])
    model.add_eos_token_id(PLACE[END])
    model.add_unk_token_id(PLACE["<unk>"])
    model.add_add_bos_token(True)
    model.add_add_space_prefix(False)
    model.add_chat_template(TEMPLATE)
    model.add_tensor("token_embd.weight", np.eye(size, WIDTH, dtype=np.float32))
    model.add_tensor("output_norm.weight", np.ones(WIDTH, np.float32))
    model.add_tensor("output.weight", table)
    for layer in range(LAYERS):
        for norm in ("attn_norm", "ffn_norm"):
            model.add_tensor(f"blk.{layer}.{norm}.weight", np.ones(WIDTH, np.float32))
        for matrix, spread in SPREADS.items():
            model.add_tensor(f"blk.{layer}.{matrix}.weight", rng.normal(0, spread, (WIDTH, WIDTH)).astype(np.float32))
    model.write_header_to_file()
    model.write_kv_data_to_file()
    model.write_tensors_to_file()
    model.close()


if __name__ == "__main__":
    write_model(Path(sys.argv[1]))
