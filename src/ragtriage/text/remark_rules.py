"""The table of remarks: what each kind looks like in English.

Precision first: a claim that is taken for a remark is never judged, and hides what was made up. So an affirmation
about the sources ("the passages say that …") is a claim, and a negation counts only where the sources are its subject
or its place.
"""

from __future__ import annotations

import re
from typing import Literal

from ragtriage.text.remark_words import (
    ABILITY,
    ADV,
    HERE,
    INFORMATION,
    IS_NOT,
    LEAD,
    MAYBE,
    MORE,
    NO_MORE,
    NO_SUCH,
    NOT,
    NUMBERED,
    OFFERED,
    ONLY,
    PLACE,
    PLAIN_END,
    SAY,
    SHOW,
    SHOWN,
    SHOWN_ONLY,
    SURE,
    SURE_SOURCE,
    TEXT,
    UNINSURED,
)

Remark = Literal["", "gap", "refusal", "about", "pointer", "courtesy", "restated", "question", "lead-in"]
"""`gap`: the sources don't say; `refusal`: the answer can't or won't; `about`: what the sources deal with; `pointer`:
where else to look; `restated`: the user's own question in other words; `lead-in`: the words before a list. Empty: a
claim."""


def _rule(kind: Remark, pattern: str) -> tuple[Remark, re.Pattern[str]]:
    """One row of the table."""
    return kind, re.compile(pattern, re.IGNORECASE)


AGAIN = re.compile(
    rf"(?:and |but |so |also,? |however,? )*(?:they|it|this|(?:one|two|three|all|both|most|some|neither|"
    rf"none) of (?:them|the \w+)){ADV}\s(?:{NOT}{ADV}\s{SHOW}|(?:says?|gives?|contains?|mentions?) (?:nothing|"
    rf"no)\b)|"
    rf"[^;:]{{1,160}}\b(?:can't|cannot|can not|couldn't|could not|isn't|aren't|is not|are not) (?:be )?(?:{SHOWN} |"
    rf"determined |named |confirmed |answered )?(?:in|from|by) (?:them|it|this|that)[.!]*$|"
    r"(?:and |but |though |although )?(?:it|they) (?:do |does |also )*(?:mention|contain|describe|touch|give|list|"
    r"cover|include|name|say)s?\b[^:]*:$|"
    r"(?:and )?(?:so|therefore|hence|thus),? [^;:]{1,160}(?:n't|\b(?:not|no|cannot|unclear|unknown|open)\b)[^,;:]*$|"
    r"(?:please|you (?:may|might|can|could|should|would)(?: want to| wish to| need to)?|"
    r"i(?:'d| would)? (?:recommend|suggest|advise)(?: that you)?) (?:also |directly )?(?:contact(?:ing)?|ask(?:ing)?|"
    r"check(?:ing)?|call(?:ing)?|reach(?:ing)? out|get(?:ting)? in touch|consult(?:ing)?|speak(?:ing)? (?:to|with))\b"
    r"[^;:\d]*$",
    re.IGNORECASE,
)
"""A remark only behind a remark about the sources: "they" are the sources then, "so" draws the consequence, and "please
contact" says where else to look; with a number it is a claim."""

RULES: tuple[tuple[Remark, re.Pattern[str]], ...] = (
    _rule("refusal", r"(?:unable|not able) to (?:answer|help|find|determine|provide an answer)\b[^;:]*$"),
    _rule(
        "courtesy",
        r"(?:sure|certainly|of course|absolutely|(?:good|great|nice|interesting|excellent) question|okay|ok|hello|hi|"
        r"hey|no problem|gladly|happy to help|glad you asked|thanks|thank you|sorry|"
        r"my pleasure|understood|got it|i see|i understand|welcome)(?: there| again| for (?:asking|your (?:question|"
        r"message|patience))| about [^:;]{1,80})?[.!,:]*$",
    ),
    _rule(
        "courtesy",
        r"(?:(?:I'm|I am|we're|we are) )?(?:so |very |really |truly )?sorry (?:to (?:hear|read|learn)|about|for|"
        r"you(?:'re|'ve|'d|r)?|"
        r"that (?:you|your|this|it) |it )\b(?![^:;]*(?:n't\b|\b(?:not|no|nothing|unable|cannot)\b))[^:;]*$",
    ),
    _rule(
        "restated",
        r"(?:(?:ah|oh|ok|okay|sure|right|well|great|good question|great question|nice question|hi|hello|hey|"
        r"thanks for (?:asking|your question|reaching out))(?: there)?[,!.:]\s+)*"
        r"(?:so,?\s+)?(?:you(?:'d| would) like\b|you(?:'re| are) (?:asking|wondering|looking (?:for|to|into)|"
        r"interested in|curious|after|thinking|planning|talking about)\b|"
        r"you want(?:ed)? (?:to|your|me|some help|help)\b|you asked\b|you wonder(?:ed)?\b|you were (?:asking|"
        r"wondering)|your question (?:is|was|concerns)|you noticed\b|you mean\b|you've asked\b)[^:;]*$",
    ),
    _rule(
        "restated",
        r"(?:(?:hi|hello|hey|ok|okay|sure)[!,.] )?(?:so|you)\b[^:;]*\b(?:you(?:'d| would) like to know|"
        r"you want to know|you wonder|(?:and|but) (?:want to know|wonder(?:ing)?|you'd like))\b[^:;]*$",
    ),
    _rule("restated", r"so (?:this is about|the question is|your question is|it's about)\b[^:;]*$"),
    _rule(
        "courtesy",
        r"(?:(?:please |do |just |but |and |so )*(?:feel free\b|don't hesitate|do not hesitate|let me know\b|(?:ask|"
        r"tell|ping|give|drop|send|text) me\b|just (?:say so|say the word|ask(?: me| if|[.!]*$)|shout)|say the word|"
        r"reach out if)|"
        r"let (?:me|us) (?:explain|look|walk|go|show|start|see|answer|help|break)\b|let's (?:look|see|go|start|"
        r"take a look|dive|walk|go through)\b|"
        r"(?:I'm |I am |I'd be |I would be |I'll be )?(?:always )?(?:happy|glad|pleased|delighted) to\b)",
    ),
    _rule(
        "courtesy",
        r"(?:(?:sure|certainly|of course|yes|absolutely|okay|ok)[,!.] )?"
        rf"(?:(?:if|should|once|when) [^.;:]{{1,160}}, )?(?:I|we)(?:'d|'ll| can| could| may| might| will|"
        rf" would)\s{OFFERED}",
    ),
    _rule(
        "courtesy",
        r"(?:if|should) (?:you|that|there|any|this)\b[^.;:]{1,160}, (?:(?:I'm|I am) (?:happy|glad)|(?:just |"
        r"please )?(?:ask me|just ask|ask[.!]*$|let me know|(?:just )?say so|tell me|feel free|shout|ping me)|"
        r"those two should|(?:I'd|I would|I can|I could|I'll|I will)\b)",
    ),
    _rule(
        "courtesy",
        r"(?:I )?(?:really )?hope (?:this|that|it|the above|you|your|all|to|the)\b[^:;]*(?:help|clear|start|useful|"
        r"well|good|great|answer|luck|fun|enjoy|soon)[^:;]*$",
    ),
    _rule(
        "courtesy",
        r"(?:good luck|best of luck|have (?:a (?:good|great|nice|lovely|safe) (?:day|time|one|trip|week|flight)|"
        r"fun)\b|enjoy\b[^,;:]{1,60}(?:!|$)|congratulations|congrats|cheers|thanks?(?! to)\b|thank you\b|"
        r"you're welcome|you are welcome|take care\b|safe travels|all the best)[^:;]{0,100}$",
    ),
    _rule(
        "courtesy",
        r"(?:stay (?:safe|tuned)(?: and (?:stay )?(?:well|healthy|sound))?|happy (?!to\b)\w+ing(?=!)|safe journey|"
        r"bon app[eé]tit|best wishes|(?:kind|warm|best) regards|looking forward to hearing from you|"
        r"see you (?:soon|there|then))(?: out there| everyone)?(?:, \w+)?[.!]*$",
    ),
    _rule(
        "courtesy",
        r"(?:disclaimer|note|please note|hinweis)?:? ?(?:that )?(?:this|the) (?:answer|response|summary|text|content|"
        r"information)(?: above| here)? (?:was|is|has been) (?:\w+ )?(?:(?:generated|created|produced|written|compiled)"
        r" (?:by|with|using) (?:an? )?(?:AI|artificial|language model|assistant|automat)|"
        r"(?:for|intended for) (?:general )?informational purposes|"
        r"not (?:legal|medical|financial|professional) advice)",
    ),
    _rule(
        "courtesy",
        r"(?:(?:sehr )?gerne?[!,]? (?:helfe|beantworte|unterstütze|erkläre|schaue)|ich helfe (?:dir|ihnen) gerne?|"
        r"ich hoffe, (?:das|dies|ich)|lassen sie (?:es )?mich|lass (?:es )?mich|"
        r"(?:falls|wenn|sollten|solltest) (?:sie|du)\b[^.;:]{0,60}\bfragen\b|bei (?:weiteren |rück)?fragen)[^;:\d]*$",
    ),
    _rule(
        "refusal",
        rf"{LEAD}(?:(?:that's|that is|which is) why )?I (?:therefore |thus |also |simply |just |still |really |"
        rf"unfortunately )*(?:{ABILITY}|(?:don't|do not|didn't|did not) (?:know|have|find|see)\b|won't\b|"
        rf"haven't (?:found|got|seen)|have (?:no|nothing|not)\b|found (?:no|nothing)\b|see (?:no|nothing)\b|"
        rf"find (?:no|nothing)\b|know (?:nothing|of no)\b)",
    ),
    _rule(
        "refusal",
        r"(?:unfortunately,? |sadly,? |but |so )*(?:I'm|I am) (?:sorry|unable|not able|not sure|unsure|not aware|"
        r"afraid I|afraid that I)",
    ),
    _rule("about", r"I (?:have |'ve )?(?:looked|searched|checked|went|gone|read) (?:through|in|for|over)\b[^:;]*$"),
    _rule(
        "courtesy",
        r"here(?:'s| is| are) (?:what|how|some|a (?:short |brief |quick )?(?:summary|overview|list|"
        r"answer))\b[^:;,]*[.!]$",
    ),
    _rule(
        "refusal",
        r"(?:sorry|apologies|my apologies|I apologi[sz]e)\b[^:;]*$|"
        r"(?:please )?(?:note that )?I can only (?:answer|help|provide|respond|go by|tell|speak)\b",
    ),
    _rule("gap", r"(?:unfortunately,? |sadly,? )?(?:I'm|I am) afraid\b[^:;]*(?:n't\b|\b(?:not|no|nothing|none)\b)"),
    _rule("gap", rf"{LEAD}{SURE}{ADV}\s{NOT}\s(?![^.]*,\s(?:only that|which|but only)\b)"),
    _rule("gap", rf"{LEAD}{TEXT}{ADV}\s{NOT}{ADV}\s{SHOW}\b"),
    _rule("gap", rf"{LEAD}{MAYBE}{ADV}\s{NOT}{ADV}\s{SAY}\b"),
    _rule(
        "gap",
        rf"{LEAD}(?:{SURE}|{MAYBE}){ADV}\s(?:says?|gives?|contains?|makes?|holds?|has|have|offers?|provides?|names?|"
        rf"mentions?|includes?|lists?|tells?)(?: \w+)? (?:nothing|no|neither|none|little about)\b",
    ),
    _rule("gap", rf"{LEAD}(?:{SURE}|{MAYBE})\s[^,;:]{{1,160}}\b(?:but|and) {NOT}{ADV}\s{SHOW}\b"),
    _rule("gap", rf"{LEAD}(?:none|neither) of (?:{SURE}|{MAYBE})\b"),
    _rule("gap", rf"{LEAD}no {SURE_SOURCE}\b"),
    _rule(
        "gap",
        rf"{LEAD}{NO_SUCH}\b[^;:]{{0,160}}?\b(?:in|by|among|from|within|of) "
        rf"(?:{SURE}|{HERE}|(?:any|none|either|neither) of (?:them|these|those)|this material)\b",
    ),
    _rule(
        "gap",
        rf"{LEAD}(?:no, )?{NO_SUCH}\b[^;:]{{0,160}}?\b(?:{SHOWN_ONLY}|mention|information|details?|reference|"
        rf"indication|statement|"
        rf"evidence|data|answer)\b[^;:]{{0,80}}?\b(?:in|by|from|within) (?:{SURE}|{MAYBE})\b",
    ),
    _rule(
        "gap",
        rf"(?:(?:unfortunately|however|but|so),?\s+)?(?:based on|according to|from|in|within|given|judging (?:by|"
        rf"from)) {SURE},?\sthere (?:is|are|was|were) no (?:\w+ )?(?:mention|information|details?|reference|indication|"
        rf"answer)(?:[.!]*$|\s(?:about|on|regarding|concerning|as to|of|to|for|that|whether|how|why|what|when|which|"
        rf"who)\b[^;:]{{0,200}}$)",
    ),
    _rule(
        "gap",
        rf"{LEAD}nothing in {MAYBE}\s(?:\w+ )?(?:says?|mentions?|states?|suggests?|indicates?|explains?|tells?)\b",
    ),
    _rule(
        "gap",
        rf"{LEAD}no (?:\w+ )?(?:information|details?|mention|answer|reference)\b[^,;:]{{0,80}}?\b(?:is|are|was|were) "
        rf"(?:provided|available|given|included|found|present|made)"
        rf"(?:[.!]*$|\s(?:about|on|regarding|concerning|as to|of|in {PLACE})\b)",
    ),
    _rule(
        "gap",
        rf"{LEAD}no (?:\w+ )?(?:information|details?|mention)\s(?:about|on|regarding|concerning)\b[^,;:]{{1,120}}"
        rf"\b(?:is|are|was|were) (?:provided|available|given|included|found|present)\b",
    ),
    _rule(
        "gap",
        rf"{LEAD}(?:the|this|that|such|your|an?) (?:\w+ )?(?:information|answer|question|details?)\b[^,;:]{{0,80}}?\b"
        rf"(?:{IS_NOT}|(?:can't|cannot|can not|could not|couldn't) be)\s(?:{SHOWN}|available|present|answered|"
        rf"determined)"
        rf"(?:[.!]*$|\s(?:in|from|by|with|within|based on|using) (?:{SURE}|{MAYBE}|{HERE}))",
    ),
    _rule(
        "gap",
        rf"{LEAD}it (?:is not|isn't|was not|wasn't|is never) (?:\w+ )?(?:possible|clear|stated|specified|mentioned|"
        rf"said|"
        rf"known|explained|indicated)\b[^;:]{{0,160}}?\b(?:from|in|by|with|based on) (?:{SURE}|{MAYBE}|{HERE})",
    ),
    _rule(
        "gap",
        rf"(?:no|none|nothing|neither|nobody)\b[^,;:]{{1,160}}\b(?:is|are|was|were) (?:(?:mentioned|stated|"
        rf"specified)\b(?!\s(?:on|at)\b)|{SHOWN}(?:\sthere\b|\shere\b|[.!]*$|\s(?:for|of|as) (?:that|the|it|any)\b))",
    ),
    _rule(
        "gap",
        rf"[^;:]{{1,240}}?\b{IS_NOT}{ADV}\s(?:{SHOWN_ONLY}|{SHOWN})\s(?:anywhere\s)?(?:in|by|among|from|within|on|"
        rf"with|here in)\s(?:{SURE}|{HERE}|(?:any|none|either) of (?:them|these|those))\b{NO_MORE}",
    ),
    _rule(
        "gap",
        rf"[^;:]{{1,240}}?\b{IS_NOT}{ADV}\s(?:among the [^,;:]{{1,60}}|part of|in|among|from|clear from)\s(?:{SURE}|"
        rf"these pages|this material|what I have|the (?:material|pages|articles|documents) I have)\b{NO_MORE}",
    ),
    _rule(
        "gap",
        rf"{UNINSURED}[^;:]{{1,240}}?\b{IS_NOT}{ADV}\s{SHOWN_ONLY}\s(?:anywhere\s)?(?:in|by|within|on)\s{MAYBE}\b{NO_MORE}",
    ),
    _rule("gap", rf"[^;:]{{1,240}}?\b{IS_NOT}{ADV}\s{SHOWN_ONLY}\s(?:here|there)[.!,]*$"),
    _rule(
        "gap",
        rf"[^;:]{{1,240}}?\b(?:can't|cannot|can not|couldn't|could not) be {ADV}(?:\w+ )?(?:{SHOWN}|determined|"
        rf"confirmed|verified|derived|inferred|established|settled|deduced|seen|taken)\s?(?:from|in|with|by|on|"
        rf"based on|using)?\s(?:{PLACE}|this|that)\b",
    ),
    _rule(
        "gap",
        rf"[^;:]{{1,240}}?\b(?:(?:doesn't|don't|does not|do not) (?:appear|come up|exist|figure|feature|occur|show "
        rf"up)|(?:remains?|is|are|left) (?:unclear|unstated|unspecified|open|missing|absent))\s(?:anywhere )?"
        rf"(?:in|from|among|on|by) (?:{SURE}|{HERE})\b",
    ),
    _rule(
        "gap",
        rf"(?:whether|what|how|who|whom|whose|why|where|when|which|if|(?:the|an?|any|its|their|his|"
        rf"her) (?:[\w'-]+ ){{0,3}}?{INFORMATION})\b[^,;:]{{0,200}}\s{IS_NOT}{ADV}\s{SHOWN_ONLY}(?:\s(?:there|"
        rf"here|anywhere))?[.!]*$",
    ),
    _rule(
        "gap",
        rf"[^.;:|]{{1,80}}:\**\s+(?:this |it )?(?:is )?not{ADV}\s(?:(?:stated|specified|mentioned|disclosed|indicated)"
        rf"(?:\s(?:anywhere )?(?:in|by|within) {PLACE})?|{SHOWN}\s(?:anywhere )?(?:in|by|within) (?:{SURE}|{HERE}))"
        r"\b[.!*)\s]*$",
    ),
    _rule(
        "gap",
        rf"{LEAD}not{ADV}\s(?:stated|specified|mentioned|found|disclosed|answered)"
        rf"(?:\s(?:anywhere )?(?:in|by|within) (?:{SURE}|{HERE}))?[.!]*$|"
        rf"{LEAD}not{ADV}\s{SHOWN}\s(?:anywhere )?(?:in|by|within) (?:{SURE}|{HERE})[.!]*$",
    ),
    _rule(
        "gap",
        rf"{LEAD}(?:that(?:'s| is)?|this(?: is)?|it(?:'s| is)?) (?:lies |falls |goes )?(?:outside|beyond) (?:of )?"
        rf"(?:what {MAYBE} |the scope of {MAYBE}|{SURE}|{MAYBE})[^,;:]{{0,40}}$",
    ),
    _rule(
        "courtesy",
        r"(?:no worries|don't worry|not to worry|don't panic|no problem)(?:,? (?:that(?:'s| is)|this is|it(?:'s| is))"
        r" (?:an? )?(?:very |quite |pretty )?(?:easy|quick|simple|common)(?: (?:one|question|fix|problem))?"
        r"(?: to (?:fix|solve|do|answer|sort out))?)?[.!]*$",
    ),
    _rule(
        "about",
        rf"(?:{SURE}|they|the (?:other|rest|results|two|three|texts|documents|articles|pages)(?: \w+)?|(?:one|two|"
        rf"three|all|both|most|some) of (?:them|the \w+))\s{ONLY}(?:deals?|dealt) with\b{PLAIN_END}",
    ),
    _rule(
        "about",
        rf"(?:{SURE}|the (?:texts|documents|articles|pages))\s{ONLY}focus(?:es)? (?:\w+ )?on\b{PLAIN_END}",
    ),
    _rule(
        "about",
        rf"{SURE}\s{ONLY}(?:(?:is|are) {ONLY}about\b|(?:covers?|concerns?|speaks? of|touch(?:es)? on|(?:is|"
        rf"are) parts?|discuss|talks? about)\s(?:only|other)\b|(?:covers?|concerns?|speaks? of|touch(?:es)? on|"
        rf"discuss)\b[^,]*\b(?:instead|only)\b){PLAIN_END}",
    ),
    _rule("about", rf"they (?:only )?(?:are about|speak of|report on|talk about|cover|concern|discuss)\b{PLAIN_END}"),
    _rule(
        "pointer",
        r"[^;:]{0,200}\b(?:(?:another|different|better|further|separate|additional|other|medical|"
        r"legal) (?:\w+ ){0,3}?(?:source|document|text|passage)s?\b[^,;:]*\b(?:needed|required|necessary)\b|(?:need|"
        r"require|take|come from|consult|check|see|try|look (?:at|in)) (?:another|a different|a better|a further|"
        r"other|an additional|a separate) (?:\w+ )?(?:source|document|text|passage)s?\b|(?:would|might|may|"
        r"could) be (?:a|the) (?:better |best |good |right )?place to (?:look|check)|looked up elsewhere|"
        r"look elsewhere|(?:source|database|document) (?:on|about|of|that|for)\b[^,;:]*\b(?:would be|is) (?:needed|"
        r"required|necessary|better)|I would need (?:a|an|the)\b|you(?: would|'d) need (?:a|another) (?:source|"
        r"document))",
    ),
    _rule(
        "pointer",
        r"(?:for (?:more|further|additional|detailed|full|complete)\b[^,;:]{0,60}, )?(?:please )?"
        r"(?:see|refer to|consult|check|read|review) (?:the |our |your )?(?:official |relevant |full |complete |"
        r"original |latest )?"
        r"(?:documentation|docs|website|handbook|manual|sources?|documents?|guidelines|policy)(?: directly)?"
        r"(?: for (?:more|further|additional|full|complete|the latest) (?:details|information|info))?[.!]*$|"
        r"I(?: would|'d)? (?:recommend|suggest|advise)(?: that you| you)? "
        r"(?:check|consult|contact|reach|visit|look|refer|review|speak|ask)\w*\b|"
        r"(?:more|additional|further) (?:information|context|details?)\b (?:is|are|would be|may be) "
        r"(?:needed|required|necessary|helpful)(?:[.!]*$| to (?:answer|determine|say|tell|give|provide)\b)|"
        r"(?:please )?(?:provide|share|give me) (?:more|further|additional) (?:details?|information|context)\b",
    ),
    _rule(
        "pointer",
        rf"(?:for {MORE}\b(?: (?:on|about) [^,;:]{{1,60}}?)?,? )?(?:please |you (?:can|may|should) )*"
        rf"(?:see|refer to|consult|check|read|review)(?: also)?(?: {NUMBERED})?(?: for {MORE}\b[^;:]{{0,60}})?[.!]*$",
    ),
    _rule(
        "pointer",
        rf"{MORE}\b(?: (?:on|about) [^,;:]{{1,60}}?)?(?: (?:is|are|can be|may be)(?: also)? (?:found|given|available|"
        rf"provided|listed))? (?:in|at|under)(?: {NUMBERED})?[.!]*$",
    ),
    _rule(
        "lead-in",
        rf"(?:(?:sure|certainly|of course|absolutely|great|yes|okay|ok|no|unfortunately)[,!.] |"
        rf"based on [^,;:]{{3,80}}, )?(?:here(?:'s| is| are)\b.*|(?:these|this) (?:is|are|were|was)\b.*|"
        rf"(?:for|on|to|regarding|about|with|concerning|as for|what|how|from|within|in|based on|according to|when|"
        rf"if)\b[^,;:]*|"
        rf"(?:(?:the )?(?:key|main|basic|essential|important) )?(?:facts|points|figures|steps|details|reasons|options|"
        rf"differences|features|examples|aspects|rules|requirements|contacts)\b[^,;:]*|[^:;]*\b(?:at a glance|"
        rf"in brief|in short|in a nutshell|in summary)|"
        rf"(?:\w+, )?{SURE} (?:do |also )?\w+\b.*|.*\b(?:the )?(?:sources|passages|documents|context|handbook|text|"
        rf"guide|docs) (?:do )?(?:say|tell us|says|report|state|describe it)|"
        rf"(?:\S+ ){{1,5}}(?:are|is|includes?)|.*\b(?:as follows|the following(?: \w+){{0,4}}|like this|follow(?:s|"
        rf"ing)?|these(?: \w+){{1,4}}|(?:say|says|said|gives?|shows?|include|have) (?:this|these)(?: \w+){{0,4}}|"
        rf"this is what [^:]*|what applies|is this|"
        rf"(?:will|should|must|can|may|need to|has to|have to|needs to|you need)(?: \w+){{0,3}})):$",
    ),
)
"""Tried in order; each pattern is matched at the beginning of the sentence, straight apostrophes, without marks."""
