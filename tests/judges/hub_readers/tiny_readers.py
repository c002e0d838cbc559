"""Tiny hub readers of every family, in the exact format of the real ones: configuration, tokenizer, weights.

    python tests/judges/hub_readers/tiny_readers.py FOLDER

writes one folder a family. They are made by transformers' own classes with tiny sizes and saved by `save_pretrained`,
so that what loads them loads the real ones. Their weights are drawn at random from a fixed seed: they know nothing.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import transformers
import transformers.utils.logging as transformers_logging
from safetensors.torch import save_file
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

TEXTS = (
    "Day tickets are valid until three in the morning. They cost six euros. Dogs travel free if they sit on a lap.",
    "Das Tagesticket gilt bis drei Uhr morgens. Es kostet sechs Euro. Hunde fahren umsonst.",
    "Le billet journalier est valable jusqu'à trois heures du matin. Il coûte six euros.",
    "El billete diario es válido hasta las tres de la mañana. Cuesta seis euros.",
    "日票有效期至凌晨三点。它的价格是六欧元。",
    "Determine if the hypothesis is true given the premise? Premise: Hypothesis: predict: passage 1: output:",
)
SMALL = {
    "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64,
}  # fmt: skip


def wordpiece(folder: Path, length: int) -> int:
    """A tokenizer as BERT and ModernBERT have it; returns the size of its vocabulary."""
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
        sep_token="[SEP]", mask_token="[MASK]",
    )  # fmt: skip
    saved.save_pretrained(folder)
    return made.get_vocab_size()


def sentencepiece(folder: Path, length: int, *, ends: tuple[str, str], size: int = 400) -> int:
    """A unigram tokenizer as DeBERTa-v3, XLM-R and T5 have it, from the beginning mark to the end mark."""
    begin, end = ends
    made = Tokenizer(models.Unigram())
    made.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Replace(Regex(" {2,}"), " ")])
    made.pre_tokenizer = pre_tokenizers.Metaspace()
    special = ["<pad>", end, "<unk>"] if not begin else [begin, "<pad>", end, "<unk>"]
    made.train_from_iterator(TEXTS, trainers.UnigramTrainer(vocab_size=size, special_tokens=special, unk_token="<unk>"))
    of = made.token_to_id
    around = [(end, of(end)), *([(begin, of(begin))] if begin else [])]
    before = f"{begin} " if begin else ""
    between = f"{end} {end}" if begin == "<s>" else end
    made.post_processor = processors.TemplateProcessing(
        single=f"{before}$A {end}", pair=f"{before}$A {between} $B {end}", special_tokens=around
    )
    made.decoder = decoders.Metaspace()
    saved = transformers.PreTrainedTokenizerFast(
        tokenizer_object=made, model_max_length=length, pad_token="<pad>", unk_token="<unk>", eos_token=end,
        **({"cls_token": begin, "sep_token": end} if begin else {}),
    )  # fmt: skip
    saved.save_pretrained(folder)
    return made.get_vocab_size()


def byte_pairs(folder: Path, length: int) -> int:
    """A tokenizer as RoBERTa has it."""
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    made.train_from_iterator(
        TEXTS, trainers.BpeTrainer(vocab_size=600, special_tokens=special, initial_alphabet=alphabet)
    )
    made.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0))
    made.decoder = decoders.ByteLevel()
    saved = transformers.PreTrainedTokenizerFast(
        tokenizer_object=made, model_max_length=length, pad_token="<pad>", unk_token="<unk>", bos_token="<s>",
        eos_token="</s>", cls_token="<s>", sep_token="</s>", mask_token="<mask>",
    )  # fmt: skip
    saved.save_pretrained(folder)
    return made.get_vocab_size()


def _saved(model: Any, folder: Path, **more: Any) -> None:
    model.eval().save_pretrained(folder, safe_serialization=True)
    if more:
        path = folder / "config.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | more))


def _deberta(vocabulary: int, **more: Any) -> transformers.DebertaV2Config:
    return transformers.DebertaV2Config(
        vocab_size=vocabulary, max_position_embeddings=512, relative_attention=True, position_buckets=16,
        pos_att_type=["p2c", "c2p"], norm_rel_ebd="layer_norm", share_att_key=True, position_biased_input=False,
        type_vocab_size=0, pooler_hidden_size=32, pad_token_id=1, **SMALL, **more,
    )  # fmt: skip


def entailment(folder: Path, languages: tuple[str, ...] = ("en",)) -> None:
    """DeBERTa-v3 for MNLI, FEVER and ANLI, with the labels in MoritzLaurer's order."""
    size = sentencepiece(folder, 512, ends=("[CLS]", "[SEP]"))
    labels = {0: "entailment", 1: "neutral", 2: "contradiction"}
    config = _deberta(size, id2label=labels, label2id={label: at for at, label in labels.items()})
    _saved(transformers.DebertaV2ForSequenceClassification(config), folder)
    card = "".join(f"- {code}\n" for code in languages)
    (folder / "README.md").write_text(f"---\nlicense: mit\nlanguage:\n{card}tags:\n- nli\n---\n\n# Tiny\n")


def minicheck_roberta(folder: Path) -> None:
    """MiniCheck on RoBERTa: labels 0 and 1, two texts in one."""
    size = byte_pairs(folder, 512)
    config = transformers.RobertaConfig(
        vocab_size=size, max_position_embeddings=514, type_vocab_size=1, pad_token_id=1, num_labels=2,
        id2label={0: "0", 1: "1"}, label2id={"0": 0, "1": 1}, **SMALL,
    )  # fmt: skip
    _saved(transformers.RobertaForSequenceClassification(config), folder)


def minicheck_deberta(folder: Path) -> None:
    """MiniCheck on DeBERTa-v3."""
    size = sentencepiece(folder, 512, ends=("[CLS]", "[SEP]"))
    config = _deberta(size, num_labels=2, id2label={0: "0", 1: "1"}, label2id={"0": 0, "1": 1})
    _saved(transformers.DebertaV2ForSequenceClassification(config), folder)


def _t5(size: int, **more: Any) -> transformers.T5Config:
    return transformers.T5Config(
        vocab_size=size, d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4, feed_forward_proj="gated-gelu",
        decoder_start_token_id=0, pad_token_id=0, eos_token_id=1, **more,
    )  # fmt: skip


def minicheck_t5(folder: Path) -> None:
    """MiniCheck on Flan-T5: the first word of a reply is token 3 or 209."""
    size = max(256, sentencepiece(folder, 2048, ends=("", "</s>")))
    model = transformers.T5ForConditionalGeneration(_t5(size, tie_word_embeddings=False)).eval()
    weights = {name: value.contiguous().clone() for name, value in model.state_dict().items()}
    weights["lm_head.weight"] = torch.randn(size, 32) * 0.05  # Flan-T5 writes with another table than it reads with
    for name in ("encoder", "decoder"):
        weights.pop(f"{name}.embed_tokens.weight", None)
    save_file(weights, str(folder / "model.safetensors"), metadata={"format": "pt"})
    model.config.save_pretrained(folder)
    path = folder / "config.json"
    told = {"tie_word_embeddings": False, "architectures": ["T5ForConditionalGeneration"]}
    path.write_text(json.dumps(json.loads(path.read_text()) | told))


def hhem(folder: Path) -> None:
    """HHEM 2.1 open: a T5 with two labels a token under the prefix `t5.`, and the foundation beside it.

    The table of word vectors is stored once, as in the published file.
    """
    foundation = folder / "foundation"
    size = sentencepiece(foundation, 512, ends=("", "</s>"))
    config = _t5(size, num_labels=2)
    config.save_pretrained(foundation)
    model = transformers.T5ForTokenClassification(config).eval()
    weights = {f"t5.{name}": value.contiguous().clone() for name, value in model.state_dict().items()}
    weights.pop("t5.transformer.encoder.embed_tokens.weight", None)
    save_file(weights, str(folder / "model.safetensors"), metadata={"format": "pt"})
    (folder / "config.json").write_text(
        json.dumps(
            {
                "architectures": ["HHEMv2ForSequenceClassification"],
                "auto_map": {"AutoConfig": "configuration_hhem_v2.HHEMv2Config"},
                "model_type": "HHEMv2",
                "torch_dtype": "float32",
            }
        )
    )
    (folder / "configuration_hhem_v2.py").write_text("raise SystemExit('code of a model was run')\n")


def spans(folder: Path) -> None:
    """LettuceDetect on ModernBERT: two labels a token of the answer."""
    size = wordpiece(folder, 4096)
    config = transformers.ModernBertConfig(
        vocab_size=size, max_position_embeddings=4096, num_labels=2, pad_token_id=0, cls_token_id=2, sep_token_id=3,
        bos_token_id=2, eos_token_id=3, global_attn_every_n_layers=2, local_attention=16, **SMALL,
    )  # fmt: skip
    _saved(transformers.ModernBertForTokenClassification(config), folder)


def reranker_xlmr(folder: Path) -> None:
    """A BGE reranker: XLM-R with one label."""
    size = sentencepiece(folder, 512, ends=("<s>", "</s>"))
    config = transformers.XLMRobertaConfig(
        vocab_size=size, max_position_embeddings=514, type_vocab_size=1, pad_token_id=1, num_labels=1, **SMALL
    )
    _saved(transformers.XLMRobertaForSequenceClassification(config), folder)
    (folder / "README.md").write_text("---\nlanguage:\n- multilingual\n---\n")


def reranker_deberta(folder: Path) -> None:
    """An mxbai reranker: DeBERTa-v3 with one label."""
    size = sentencepiece(folder, 512, ends=("[CLS]", "[SEP]"))
    _saved(transformers.DebertaV2ForSequenceClassification(_deberta(size, num_labels=1)), folder)


def encoder(folder: Path, pooling: str = "mean") -> None:
    """A sentence encoder in the layout of Sentence Transformers: BERT, pooling, normalisation."""
    size = wordpiece(folder, 128)
    config = transformers.BertConfig(vocab_size=size, max_position_embeddings=128, type_vocab_size=2, **SMALL)
    _saved(transformers.BertModel(config), folder)
    base = "sentence_transformers.models"
    modules = [
        {"idx": 0, "name": "0", "path": "", "type": f"{base}.Transformer"},
        {"idx": 1, "name": "1", "path": "1_Pooling", "type": f"{base}.Pooling"},
        {"idx": 2, "name": "2", "path": "2_Normalize", "type": f"{base}.Normalize"},
    ]
    (folder / "modules.json").write_text(json.dumps(modules))
    (folder / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": 64, "do_lower_case": False}))
    (folder / "1_Pooling").mkdir(exist_ok=True)
    (folder / "2_Normalize").mkdir(exist_ok=True)
    switches = {
        "word_embedding_dimension": 32,
        "pooling_mode_cls_token": pooling == "cls",
        "pooling_mode_mean_tokens": pooling == "mean",
        "pooling_mode_max_tokens": pooling == "max",
    }
    (folder / "1_Pooling" / "config.json").write_text(json.dumps(switches))
    (folder / "README.md").write_text("---\nlanguage:\n- en\n- de\n- fr\n- es\n- zh\n---\n")


def encoder_t5(folder: Path, *, decoder: bool = False) -> None:
    """A sentence encoder on the encoder of a T5 (sentence-t5, gtr-t5), with its dense layer; the whole T5 if asked."""
    size = sentencepiece(folder, 512, ends=("", "</s>"))
    kind = transformers.T5ForConditionalGeneration if decoder else transformers.T5EncoderModel
    _saved(kind(_t5(size)), folder)
    base = "sentence_transformers.models"
    named = [("", "Transformer"), ("1_Pooling", "Pooling"), ("2_Dense", "Dense"), ("3_Normalize", "Normalize")]
    modules = [{"idx": at, "path": path, "type": f"{base}.{kind}"} for at, (path, kind) in enumerate(named)]
    (folder / "modules.json").write_text(json.dumps(modules))
    (folder / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": 256}))
    for path, _ in named[1:]:
        (folder / path).mkdir(exist_ok=True)
    (folder / "1_Pooling" / "config.json").write_text(json.dumps({"pooling_mode_mean_tokens": True}))
    told = {"in_features": 32, "out_features": 16, "bias": False}
    told |= {"activation_function": "torch.nn.modules.linear.Identity"}
    (folder / "2_Dense" / "config.json").write_text(json.dumps(told))
    save_file({"linear.weight": torch.randn(16, 32)}, str(folder / "2_Dense" / "model.safetensors"))
    (folder / "README.md").write_text("---\nlanguage: en\n---\n")


MAKERS: dict[str, Callable[[Path], None]] = {
    "entailment": entailment,
    "minicheck-roberta": minicheck_roberta,
    "minicheck-deberta": minicheck_deberta,
    "minicheck-t5": minicheck_t5,
    "hhem": hhem,
    "spans": spans,
    "reranker-xlmr": reranker_xlmr,
    "reranker-deberta": reranker_deberta,
    "encoder": encoder,
    "encoder-t5": encoder_t5,
}


def made(name: str, folder: Path) -> Path:
    """A folder with the tiny reader of this name."""
    folder.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(7)
    transformers_logging.disable_progress_bar()
    MAKERS[name](folder)
    return folder


if __name__ == "__main__":
    for one in MAKERS:
        made(one, Path(sys.argv[1]) / one)
