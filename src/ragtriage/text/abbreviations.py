"""Words with a full stop that ends no sentence, and words that begin one."""

from __future__ import annotations

GOES_ON = frozenset(
    """
    mr mrs ms dr prof sr. st rev fr hon gov gen col maj capt lt sgt cmdr adm sen rep pres supt insp mt ft messrs
    mme mlle e.g eg i.e ie cf vs v viz approx ca c resp incl excl esp fig figs eq eqs sec secs ch chap vol vols
    pp p para art tab ref refs app ed eds trans n.b nb al
    """.split()
)
"""Behind these a sentence goes on, whatever follows."""

BEFORE_NUMBER = frozenset("no nos nr jan feb mar apr jun jul aug sep sept oct nov dec tel ext art".split())
"""These go on where a number follows."""

MAY_END = frozenset(
    """
    inc ltd co corp bros llc plc jr sr etc u.s u.k u.n e.u u.s.a d.c a.m p.m b.c a.d ph.d m.d b.a m.a b.sc m.sc
    p.s st jan feb mar apr jun jul aug sep sept oct nov dec dept univ assn est govt min max avg hr hrs sq ave
    blvd rd tbsp tsp oz lb lbs
    """.split()
)
"""Behind these a sentence ends only where a word follows that often begins one."""

STARTERS = frozenset(
    """
    the a an this that these those it its he she they we you i his her their our your my there here in on at by
    for from with when while if as after before since until unless although though because however but and so
    then also moreover furthermore additionally finally first second next please note to some many most all each
    every both no not such what which who where why how according once during under
    """.split()
)
"""Words that begin a sentence and are rarely part of a name."""

GREETINGS = frozenset(
    {"hi", "hello", "hey", "thanks", "there", "you", "ok", "okay", "please", "sorry", "help", "no", "yes"}
)
"""Behind these "!" ends a sentence even where the next one begins small; else it may be part of a name (Yahoo!)."""
