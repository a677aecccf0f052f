"""What words mean together: hits come in, fired rules (row, code, rule, place) go out.

A word of the reader beside a negative trait is an attack; the same trait negated, quoted, or said of the sender is not.
Distances are in places: words, or a few characters where a script has no spaces.
"""

import numpy as np
import polars as pl

from rewrite_batch.evaluate.chars import Ints
from rewrite_batch.evaluate.matcher import Matcher
from rewrite_batch.evaluate.tables import fired
from rewrite_batch.evaluate.text import Text

# Characters a place, where words have no spaces between them.
CHARACTERS_A_PLACE = {"zh": 2, "ja": 2, "th": 4, "lo": 4, "km": 4, "my": 4}
# The verb, with its command, request or negation, comes last.
VERB_LAST = ("ja", "ko", "tr", "hi")
# A softener may follow what it softens.
SOFTENED_LATE = (*VERB_LAST, "zh", "th", "vi")

_SAME = pl.col("clause") == pl.col("clause_other")
# How many places the other hit stands before (positive) or after (negative) this one; 0 when they touch or overlap.
_BEFORE = pl.col("start") - pl.col("end_other")
_AFTER = pl.col("start_other") - pl.col("end")


def annotate(hits: pl.DataFrame, text: Text, using: Matcher) -> pl.DataFrame:
    """Hits with their code, value, name and places."""
    rules = using.table[hits["rule"]] if hits.height else using.table.clear()
    first, last = hits["first"].to_numpy(), hits["last"].to_numpy()
    row = hits["row"].to_numpy()
    start, end = _places(text, row, first), _places(text, row, last)
    return hits.select(
        "row",
        *rules.get_columns(),
        pl.Series("language", text.language[row], dtype=pl.String()),
        pl.Series("sentence", text.sentence[first].astype(np.int64)),
        pl.Series("clause", text.clause[first].astype(np.int64)),
        pl.Series("quoted", text.quoted[first]),
        pl.Series("start", start),
        pl.Series("end", end),
        "first",
        "last",
    )


def _places(text: Text, row: Ints, character: Ints) -> Ints:
    size = np.ones(text.language.size, np.int64)
    for language, characters in CHARACTERS_A_PLACE.items():
        size[text.language == language] = characters
    # Counted from the row's own beginning, so that its place in the chunk does not matter.
    return np.where(size[row] > 1, (character - text.starts[row]) // size[row], text.word[character]).astype(np.int64)


class Scene:
    """The hits of a chunk by vocabulary, and the few questions that the rules ask about them."""

    def __init__(self, marked: pl.DataFrame, text: Text, power: pl.Series) -> None:
        self.text = text
        self.power = power
        self._by_code = {key[0]: frame for key, frame in marked.partition_by("code", as_dict=True).items()}
        self._none = marked.clear()
        soft = pl.concat([self.of("@softener"), self.of("@request")])
        self.softened = soft.select("sentence", "clause", "start", "end", "language")
        self.soft_sentences = soft.select("sentence").unique()
        asks = pl.Series("sentence", np.flatnonzero(text.asks))
        self.asking = asks.to_frame()

    def of(self, code: str) -> pl.DataFrame:
        return self._by_code.get(code, self._none)

    def beside(self, these: pl.DataFrame, code: str, *, before: int, after: int) -> pl.DataFrame:
        """Pairs: one of these, and a hit of `code` in its clause that ends up to `before` places before it or begins
        up to `after` places after it."""
        others = self.of(code).select("sentence", "clause", "start", "end", "first", "last")
        pairs = these.join(others, on="sentence", suffix="_other")
        near = _SAME & (before >= _BEFORE) & (after >= _AFTER)
        return pairs.filter(near)

    def without(self, these: pl.DataFrame, code: str, near: pl.Expr) -> pl.DataFrame:
        """These, less those that have a hit of `code` in their sentence for which `near` holds."""
        if these.is_empty() or self.of(code).is_empty():
            return these
        others = self.of(code).select("sentence", "clause", "start", "end", "first", "last")
        numbered = these.with_row_index("_pair")
        excused = numbered.join(others, on="sentence", suffix="_x").filter(near).select("_pair").unique()
        return numbered.join(excused, on="_pair", how="anti").drop("_pair")

    def unless_negated(self, these: pl.DataFrame, reach: int, late: tuple[str, ...] = VERB_LAST) -> pl.DataFrame:
        """Negation stands shortly before; in languages whose verb comes last, shortly after."""
        outside = (pl.col("last_x") < pl.col("first")) | (pl.col("first_x") > pl.col("last"))
        # A long phrase is a statement of its own: only what stands right before it negates it.
        limit = pl.when(pl.col("end") - pl.col("start") >= 3).then(1).otherwise(reach)
        before = (pl.col("start") - pl.col("end_x")).is_between(0, limit)
        after = (pl.col("start_x") - pl.col("end")).is_between(0, reach) & pl.col("language").is_in(late)
        return self.without(these, "@negation", _CLAUSE_X & outside & (before | after))

    def unless_excused(self, these: pl.DataFrame) -> pl.DataFrame:
        """Less what the sender takes back beforehand: `I'm not saying that you`, `I know you didn't`."""
        shortly = (pl.col("start") - pl.col("end_x")).is_between(-1, 4) & (pl.col("first_x") < pl.col("first"))
        return self.without(these, "@excuse", shortly)

    def unless_own(self, pairs: pl.DataFrame) -> pl.DataFrame:
        """Pairs of a reader and a word, less those where the sender stands nearer, before the word."""
        between = (pl.col("first_x") > pl.col("last_other")) & (pl.col("last_x") < pl.col("first"))
        leads = (pl.col("first_other") > pl.col("last")) & (pl.col("start") - pl.col("end_x")).is_between(0, 3)
        return self.without(pairs, "@self", _CLAUSE_X & (between | leads))

    def unless_of_sender(self, these: pl.DataFrame) -> pl.DataFrame:
        """Less what stands right after the sender, with no reader near: `I was such an idiot`."""
        mine = _CLAUSE_X & (pl.col("start") - pl.col("end_x")).is_between(0, 3) & (pl.col("last_x") < pl.col("first"))
        with_reader = self.beside(these, "@reader", before=4, after=0).select(these.columns)
        return pl.concat([self.without(these, "@self", mine), with_reader]).unique(maintain_order=True)

    def unless_said_by_sender(self, pairs: pl.DataFrame) -> pl.DataFrame:
        """`I don't think you are lazy`: the sender's negation stands before the reader."""
        before = (pl.col("start_other") - pl.col("end_x")).is_between(1, 4) & (pl.col("last_x") < pl.col("first_other"))
        mine = self.beside(self.of("@negation"), "@self", before=2, after=0).select(self._none.columns).unique()
        self._by_code["@own_negation"] = mine
        return self.without(pairs, "@own_negation", _CLAUSE_X & before)

    def unless_softened(self, these: pl.DataFrame, *, anywhere: bool) -> pl.DataFrame:
        """Less those that a `please` or `could we` softens: in the sentence, or in the clause and before."""
        if anywhere:
            return these.join(self.soft_sentences, on="sentence", how="anti")
        numbered = these.with_row_index("_pair")
        early = (pl.col("end_soft") <= pl.col("start")) | pl.col("language").is_in(SOFTENED_LATE)
        soft = (
            numbered.join(self.softened.drop("language"), on=["sentence", "clause"], suffix="_soft")
            .filter(early)
            .select("_pair")
            .unique()
        )
        return numbered.join(soft, on="_pair", how="anti").drop("_pair")

    def unless_asked(self, these: pl.DataFrame) -> pl.DataFrame:
        return these.join(self.asking, on="sentence", how="anti")


_CLAUSE_X = pl.col("clause") == pl.col("clause_x")


def fire(marked: pl.DataFrame, text: Text, power: pl.Series) -> pl.DataFrame:
    scene = Scene(marked, text, power)
    return pl.concat(
        [
            _lexicon(scene),
            _attacks(scene),
            _blame(scene),
            _commands(scene),
            _rules_and_demands(scene),
            _diagnoses(scene),
            _too_soft(scene),
        ]
    ).unique(maintain_order=True)


def _fired(these: pl.DataFrame, code: str, how: str) -> pl.DataFrame:
    return fired(these, code, pl.concat_str(pl.lit(f"{how}:"), "rule"))


def _plain(these: pl.DataFrame) -> pl.DataFrame:
    return fired(these, pl.col("code"), pl.col("rule"))


def _lexicon(scene: Scene) -> pl.DataFrame:
    """A term of the pack is enough; blame and attacks may still be negated, quoted, or about the sender."""
    always = [_plain(scene.of(code)) for code in ("vulgarity", "slur", "preference_disclosure")]
    # `No rush to answer right this second` takes the order back before it is given.
    relieved = _CLAUSE_X & (pl.col("start") - pl.col("end_x")).is_between(0, 4) & (pl.col("last_x") < pl.col("first"))
    always.append(_plain(scene.without(scene.of("authority"), "@relief", relieved)))
    warned = [_plain(scene.of(code)) for code in ("sarcasm_warn", "hedge_warn")]
    blame = scene.unless_negated(_spoken(scene.of("blame")), 2)
    attack = scene.unless_negated(_spoken(scene.of("personal_attack")), 2)
    blame, attack = scene.unless_excused(blame), scene.unless_excused(scene.unless_of_sender(attack))
    medical = scene.unless_negated(_spoken(scene.of("medical")), 2)
    medical = scene.unless_excused(scene.unless_of_sender(medical))
    return pl.concat([*always, *warned, _plain(blame), _plain(attack), _plain(medical)])


def _spoken(these: pl.DataFrame) -> pl.DataFrame:
    return these.filter(~pl.col("quoted"))


def _attacks(scene: Scene) -> pl.DataFrame:
    traits = _spoken(scene.of("@trait"))
    pairs = scene.beside(traits, "@reader", before=6, after=1)
    pairs = scene.unless_own(scene.unless_negated(pairs, 3))
    pairs = scene.unless_excused(scene.unless_said_by_sender(pairs))
    compared = _spoken(scene.of("@comparison"))
    return pl.concat(
        [_fired(pairs, "personal_attack", "reader_trait"), _fired(compared, "personal_attack", "compared")]
    )


def _blame(scene: Scene) -> pl.DataFrame:
    # `You are always so kind` accuses nobody.
    praised = (pl.col("first_x") <= pl.col("first")) & (pl.col("last_x") >= pl.col("last"))
    accusing = scene.without(_spoken(scene.of("@absolute")), "@virtue", praised)
    absolutes = scene.beside(accusing, "@reader", before=4, after=2)
    absolutes = scene.unless_softened(scene.unless_negated(scene.unless_own(absolutes), 1), anywhere=False)
    faults = scene.beside(_spoken(scene.of("@fault")), "@reader", before=5, after=5)
    faults = scene.unless_own(scene.unless_negated(faults, 2))
    return pl.concat(
        [
            _fired(absolutes, "blame", "reader_absolute"),
            _fired(faults, "blame", "reader_fault"),
            _fired(_statements(scene), "blame", "statement"),
        ]
    )


def _statements(scene: Scene) -> pl.DataFrame:
    """A sentence that begins with the reader, asks nothing, softens nothing and has no good word for them. One that
    has the reader do wrong elsewhere, or complains of them, counts as well, unless it does so in a harmless way: `when
    you`, `I lent you`."""
    mentions = scene.of("@mention").join(scene.of("@neutral").select("sentence").unique(), on="sentence", how="anti")
    statements = _spoken(pl.concat([scene.of("@statement"), mentions]))
    told = scene.unless_asked(scene.unless_softened(statements, anywhere=True))
    for code in ("@praise", "@greeting", "@apology"):
        told = told.join(scene.of(code).select("sentence").unique(), on="sentence", how="anti")
    return scene.unless_excused(told)


def _commands(scene: Scene) -> pl.DataFrame:
    """An imperative that opens a clause, after a `so` or `from now on` too, or ends one where the verb comes last, with
    nothing to soften it."""
    verbs = _spoken(scene.of("@imperative"))
    first = verbs["first"].to_numpy()
    opens = _opens_clause(scene.text, first) | _follows_lead(scene, first)
    verbs = verbs.filter(pl.Series(opens) | pl.col("language").is_in(VERB_LAST))
    bare = scene.unless_asked(scene.unless_softened(verbs, anywhere=True))
    return _fired(bare, "authority", "command")


def _follows_lead(scene: Scene, first: Ints) -> Ints:
    """Right before it stands a leading word that opens the clause itself."""
    leads = scene.of("@lead")
    opening = leads.filter(pl.Series(_opens_clause(scene.text, leads["first"].to_numpy()), dtype=pl.Boolean()))
    return np.isin(first, opening["last"].to_numpy() + 2)


def _opens_clause(text: Text, first: Ints) -> Ints:
    """Nothing of its clause stands before it but spaces."""
    if not first.size:
        return np.zeros(0, bool)
    before = first - 1
    earlier = before - (text.code[before] == 0x20)
    outside = (earlier < 0) | (text.row[earlier] != text.row[first])
    return outside | (text.clause[earlier] != text.clause[first])


def _rules_and_demands(scene: Scene) -> pl.DataFrame:
    """Among peers a rule may be proposed; from someone above, any mention of rules or ownership is an order. Towards
    someone above, any demand is one."""
    talk = _spoken(pl.concat([scene.of("@rule"), scene.of("@owner")]))
    power = pl.DataFrame({"row": np.arange(scene.power.len()), "power": scene.power})
    talk = talk.join(power, on="row")
    above = pl.concat([talk, _spoken(scene.of("@above")).join(power, on="row")])
    from_above = above.filter(pl.col("power") == "higher_sender")
    # Among peers, rules are cited at somebody: at the reader, or as what must be done.
    at_somebody = pl.concat(
        [scene.of(code).select("sentence") for code in ("@reader", "@demand", "@owner", "@imperative")]
    )
    cited = talk.filter(pl.col("power") != "higher_sender").join(at_somebody.unique(), on="sentence", how="semi")
    cited = scene.unless_negated(cited, 1)
    cited = scene.unless_asked(scene.unless_softened(cited, anywhere=True))
    # German says `du musst nicht` for `you need not`.
    demands = scene.unless_negated(_spoken(scene.of("@demand")), 2, late=("de", *VERB_LAST)).join(power, on="row")
    # `if you need to`, `what you have to`: no demand.
    demands = scene.without(demands, "@if", _CLAUSE_X & (pl.col("start") - pl.col("end_x") == 1))
    own = _CLAUSE_X & (pl.col("start") - pl.col("end_x")).is_between(0, 2) & (pl.col("last_x") < pl.col("first"))
    # `I need you to` is no need of the sender alone.
    names_reader = scene.beside(demands, "@reader", before=0, after=0).select(demands.columns)
    demands = pl.concat([scene.without(demands, "@self", own), names_reader]).unique(maintain_order=True)
    upward = demands.filter(pl.col("power") == "higher_recipient")
    wanted = scene.unless_excused(_spoken(scene.of("@upward"))).join(power, on="row")
    upward = pl.concat([upward, wanted.filter(pl.col("power") == "higher_recipient")])
    told = scene.beside(demands.filter(pl.col("power") != "higher_recipient"), "@reader", before=3, after=1)
    told = scene.unless_asked(scene.unless_softened(told, anywhere=True))
    return pl.concat(
        [
            _fired(from_above, "authority", "from_above"),
            _fired(cited, "authority", "cited"),
            _fired(upward, "authority", "upward_demand"),
            _fired(told, "authority", "told"),
        ]
    )


def _diagnoses(scene: Scene) -> pl.DataFrame:
    pairs = scene.beside(_spoken(scene.of("@diagnosis")), "@reader", before=6, after=3)
    pairs = scene.unless_own(scene.unless_negated(pairs, 3))
    # An illness that nobody is said to have is the reader's, unless the sender speaks of their own people.
    own = (pl.col("start") - pl.col("end_x")).is_between(0, 6) & (pl.col("last_x") < pl.col("first"))
    illness = scene.without(_spoken(scene.of("@illness")), "@own", own)
    illness = scene.unless_excused(scene.unless_negated(illness, 3))
    return pl.concat([_fired(pairs, "medical", "reader_diagnosis"), _fired(illness, "medical", "illness")])


def _too_soft(scene: Scene) -> pl.DataFrame:
    """Hedges and apologies pile up until nobody knows what is asked."""
    hedges = pl.concat([scene.of("@hedge"), scene.of("@apology")])
    many = hedges.filter(pl.len().over("row") >= 5)
    sarcasm = scene.of("@sarcasm")
    return pl.concat([_fired(many, "hedge_warn", "many"), _fired(sarcasm, "sarcasm_warn", "sarcasm")])
