"""Tiny classifiers of pairs in the exact format of real ones: configuration, tokenizer, weights.

They are made by transformers' own classes with tiny sizes and saved by `save_pretrained`, so that what loads them loads
the real ones. Their weights are drawn at random from a fixed seed: they know nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import torch
import transformers
import transformers.utils.logging as transformers_logging
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

TEXTS = (
    "Day tickets are valid until three in the morning. They cost six euros. Dogs travel free if they sit on a lap.",
    "Das Tagesticket gilt bis drei Uhr morgens. Es kostet sechs Euro. Hunde fahren umsonst.",
    "Le billet journalier est valable jusqu'à trois heures du matin. Il coûte six euros.",
    "El billete diario es válido hasta las tres de la mañana. Cuesta seis euros.",
    "日票有效期至凌晨三点。它的价格是六欧元。",
)
SMALL = {
    "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64,
    "initializer_range": 0.5,
}  # fmt: skip


def wordpiece(folder: Path, length: int) -> int:
    """A tokenizer as BERT has it; returns the size of its vocabulary."""
    made = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    made.normalizer = normalizers.BertNormalizer(lowercase=False)
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    made.train_from_iterator(TEXTS, trainers.WordPieceTrainer(vocab_size=400, special_tokens=special))
    made.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )
    made.decoder = decoders.WordPiece()
    saved = transformers.PreTrainedTokenizerFast(
        tokenizer_object=made, model_max_length=length, pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]",
        sep_token="[SEP]", mask_token="[MASK]", model_input_names=["input_ids", "token_type_ids", "attention_mask"],
    )  # fmt: skip
    saved.save_pretrained(folder)
    return made.get_vocab_size()


def sentencepiece(folder: Path, length: int, *, ends: tuple[str, str]) -> int:
    """A unigram tokenizer as DeBERTa-v3 and XLM-R have it, from the beginning mark to the end mark."""
    begin, end = ends
    made = Tokenizer(models.Unigram())
    made.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Replace(Regex(" {2,}"), " ")])
    made.pre_tokenizer = pre_tokenizers.Metaspace()
    special = [begin, "<pad>", end, "<unk>"]
    made.train_from_iterator(TEXTS, trainers.UnigramTrainer(vocab_size=400, special_tokens=special, unk_token="<unk>"))
    between = f"{end} {end}" if begin == "<s>" else end
    made.post_processor = processors.TemplateProcessing(
        single=f"{begin} $A {end}",
        pair=f"{begin} $A {between} $B {end}",
        special_tokens=[(end, made.token_to_id(end)), (begin, made.token_to_id(begin))],
    )
    made.decoder = decoders.Metaspace()
    saved = transformers.PreTrainedTokenizerFast(
        tokenizer_object=made, model_max_length=length, pad_token="<pad>", unk_token="<unk>", eos_token=end,
        cls_token=begin, sep_token=end,
    )  # fmt: skip
    saved.save_pretrained(folder)
    return made.get_vocab_size()


LABELS = {0: "entailment", 1: "neutral", 2: "contradiction"}
"""In MoritzLaurer's order."""
NAMED = {"id2label": LABELS, "label2id": {label: at for at, label in LABELS.items()}}


def deberta(folder: Path) -> None:
    """DeBERTa-v3 for MNLI, FEVER and ANLI."""
    size = sentencepiece(folder, 512, ends=("[CLS]", "[SEP]"))
    config = transformers.DebertaV2Config(
        vocab_size=size, max_position_embeddings=512, relative_attention=True, position_buckets=16,
        pos_att_type=["p2c", "c2p"], norm_rel_ebd="layer_norm", share_att_key=True, position_biased_input=False,
        type_vocab_size=0, pooler_hidden_size=32, pad_token_id=1, **NAMED, **SMALL,
    )  # fmt: skip
    transformers.DebertaV2ForSequenceClassification(config).save_pretrained(folder)
    (folder / "README.md").write_text("---\nlanguage:\n- multilingual\n- de\n- en\n- zh\ntags:\n- nli\n---\n\n# Tiny\n")


def xlmr(folder: Path) -> None:
    """XLM-R, whose positions are counted from behind its padding."""
    size = sentencepiece(folder, 512, ends=("<s>", "</s>"))
    config = transformers.XLMRobertaConfig(
        vocab_size=size, max_position_embeddings=514, type_vocab_size=1, pad_token_id=1, **NAMED, **SMALL
    )
    transformers.XLMRobertaForSequenceClassification(config).save_pretrained(folder)


def bert(folder: Path) -> None:
    """BERT, which tells the two texts apart by their types, and takes few word pieces."""
    size = wordpiece(folder, 128)
    config = transformers.BertConfig(vocab_size=size, max_position_embeddings=128, type_vocab_size=2, **NAMED, **SMALL)
    transformers.BertForSequenceClassification(config).save_pretrained(folder)


MAKERS: dict[str, Callable[[Path], None]] = {"deberta": deberta, "xlmr": xlmr, "bert": bert}


def made(name: str, folder: Path) -> Path:
    """A folder with the tiny model of this name."""
    folder.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(7)
    transformers_logging.disable_progress_bar()
    MAKERS[name](folder)
    return folder
