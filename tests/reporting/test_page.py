"""The page as HTML: what it says, that names stay text, and what it leaves out."""

import re
import shutil
import warnings
from dataclasses import replace
from html.parser import HTMLParser
from itertools import pairwise

import numpy as np
import pytest

from fairground.errors import DamageWarning
from fairground.records import RunFolder, write_arrays
from fairground.reporting import RunSet, build_page, page_text, with_ensembles_apart
from fairground.spec import load_study
from tests.records.factory import changed, make_record
from tests.reporting.fixtures import HOSTILE, make_study, write_gallery


class Reader(HTMLParser):
    """Collects what a browser would see: tags with their attributes, ids, and whether every tag is closed."""

    VOID = {"meta", "link", "img", "br", "wbr", "path", "circle", "line", "use", "rect", "input"}

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags, self.ids, self.open, self.words = [], [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self.ids += [value for name, value in attrs if name == "id"]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self.ids += [value for name, value in attrs if name == "id"]

    def handle_endtag(self, tag):
        if tag not in self.VOID:
            assert self.open.pop() == tag

    def handle_data(self, data):
        if "style" not in self.open and "script" not in self.open:
            self.words.append(data)

    def text(self) -> str:
        return " ".join(" ".join(self.words).split())


@pytest.fixture
def without_figures(monkeypatch):
    """Drawing takes most of a page's time, and many tests look at other things."""
    monkeypatch.setattr("fairground.reporting.page.figures_of", lambda _, **__: [])


def page_of(records, tmp_path, *, title="A study", galleries=None, names=None, **settings) -> str:
    folders = {name: RunFolder(tmp_path, name).make() for name in galleries or {}}
    for name, folder in folders.items():
        shutil.copy(galleries[name], folder.gallery)
    runs = RunSet(records=tuple(records), folders=folders, names=names or {}, title=title)
    return build_page(runs, out=tmp_path / "page.html", **settings).read_text()


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> str:
    """The page of a study with all its figures and a gallery."""
    study, folder = make_study(), tmp_path_factory.mktemp("whole")
    return page_of(study, folder, galleries={study[0].name: write_gallery(folder / "gallery.npz")})


def test_the_page_says_the_answer_and_everything_needed_to_check_it(whole):
    reader = Reader(whole)
    text = reader.text()
    assert "Which of these 4 methods best retrieves unseen classes of icons?" in text
    assert "margin + distance_weighted is best: MAP@R" in text
    for words in ("Protocol: laptop on icons", "What differs", "Learning curves", "Gallery", "All 12 runs", "AP 50 %"):
        assert words in text
    assert reader.open == []
    assert len(reader.ids) == len(set(reader.ids))
    anchors = [attributes["href"][1:] for tag, attributes in reader.tags if tag == "a"]
    assert set(anchors) <= set(reader.ids)


def test_the_page_makes_no_request(whole):
    for tag, attributes in Reader(whole).tags:
        for name in ("src", "href", "xlink:href"):
            assert attributes.get(name, "#").startswith(("data:", "#")), (tag, name)
    assert not re.search(r"url\((?!#)|@import", whole)
    assert "default-src 'none'" in whole


def test_pictures_have_descriptions_and_headings_are_in_order(whole):
    reader = Reader(whole)
    images = [attributes for tag, attributes in reader.tags if tag == "img"]
    assert len(images) == 15
    assert all(attributes["alt"] for attributes in images)
    levels = [int(tag[1]) for tag, _ in reader.tags if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))
    drawings = [attributes for tag, attributes in reader.tags if tag == "svg"]
    assert all("aria-label" in attributes or attributes.get("aria-hidden") for attributes in drawings)


def test_hostile_names_stay_text(tmp_path):
    everything = " ".join(HOSTILE)
    where = {"data": everything, "protocol": everything}
    records = [make_record(loss=name, settings={name[:50]: name}, notes=[name], **where) for name in HOSTILE]
    records += [make_record(loss=name, seed=1, state="failed", **where) for name in HOSTILE]
    galleries = {
        record.name: write_gallery(tmp_path / f"{i}.npz", labels=(name[:500], "bell"))
        for i, (record, name) in enumerate(zip(records, HOSTILE, strict=False))
    }
    names = {records[0].method: everything, records[-1].method: HOSTILE[0]}
    text = page_of(records, tmp_path, title=everything, galleries=galleries, names=names)
    reader = Reader(text)
    assert [tag for tag, _ in reader.tags].count("script") == 1
    assert not any(key.startswith("on") for _, attributes in reader.tags for key in attributes)
    assert {attributes["src"][:5] for tag, attributes in reader.tags if tag == "img"} == {"data:"}
    assert reader.open == []
    assert "<script>alert(1)</script>" in reader.text()
    assert "{{ 7 * 7 }}" in reader.text()
    assert "\u202e" not in text
    assert "\x1b" not in text
    assert len(text) < 1_000_000


@pytest.mark.usefixtures("without_figures")
def test_runs_of_two_data_sets_never_share_a_table(tmp_path):
    study = [*make_study(), *(make_record(data="birds", seed=seed) for seed in range(2))]
    reader = Reader(page_of(study, tmp_path))
    assert sum("results" in attributes.get("class", "") for tag, attributes in reader.tags if tag == "table") == 2
    assert "Protocol: laptop on birds" in reader.text()
    assert len(reader.ids) == len(set(reader.ids))


@pytest.mark.usefixtures("without_figures")
def test_one_gallery_a_method_and_no_more_than_a_page_can_carry(tmp_path, monkeypatch):
    study = make_study()
    path = write_gallery(tmp_path / "gallery.npz")
    everything = {record.name: path for record in study}
    assert page_of(study, tmp_path, galleries=everything).count('<details class="run-gallery"') == 4
    monkeypatch.setattr("fairground.reporting.gallery_pictures._MOST_CHARACTERS", 1)
    text = page_of(study, tmp_path, galleries=everything)
    assert text.count('<details class="run-gallery"') == 1
    assert "3 more galleries are not shown" in text


@pytest.mark.usefixtures("without_figures")
def test_runs_that_may_not_be_compared_are_marked_and_nobody_is_called_better(tmp_path):
    wide = [changed(make_record(loss="margin", seed=n, level=0.9), head__embedding_dim=512) for n in range(3)]
    text = Reader(page_of([*make_study(), *wide], tmp_path)).text()
    assert "No method can be called better: these 5 methods differ in more than what is compared" in text
    assert "[unfair] margin" in text
    assert "⚠ embedding_dim:" in text
    assert "is best" not in text
    assert "★" not in text


@pytest.mark.usefixtures("without_figures")
def test_runs_of_a_papers_protocol_stand_beside_its_numbers(tmp_path):
    runs = [make_record(loss="margin", seed=seed, data="cub200", protocol="roth2020-cub200") for seed in range(2)]
    text = Reader(page_of(runs, tmp_path)).text()
    assert "Against the papers" in text
    assert "not comparable with roth2020/table" in text
    assert "Against the papers" not in Reader(page_of(make_study(), tmp_path)).text()


@pytest.mark.usefixtures("without_figures")
def test_a_study_of_folds_says_which_headline_is_of_which_models_counts_methods_once_and_links_once(tmp_path):
    runs = [make_record(loss=loss, seed=seed) for loss in ("contrastive", "triplet") for seed in range(3)]
    folds = [changed(run, split={"name": "class_folds", "n_folds": 2, "fold": fold}) for run in runs for fold in (0, 1)]
    joined = [changed(record, ensemble="concatenated") for record in folds[::2]]
    records = with_ensembles_apart([*folds, *joined])
    reader = Reader(page_of(records, tmp_path, names={folds[0].method: "our classic"}))
    text = reader.text()
    assert text.count("Which of these 2 methods best retrieves unseen classes of icons?") == 2
    assert text.count("(separated models: the mean over the fold models of a repeat)") == 1
    assert text.count("(concatenated models: the fold models of a repeat joined into one)") == 1
    assert re.search("2 methods|methods 2", text)
    links = [attributes["href"] for tag, attributes in reader.tags if tag == "a" and "href" in attributes]
    navigation = links[1 : links.index("#provenance") + 1]
    assert len(navigation) == len(set(navigation))
    for words in ("icons, separated models", "icons, concatenated models", "our classic", "All 18 runs"):
        assert words in text


def test_single_runs_have_no_interval_and_untrained_networks_no_training(tmp_path, without_figures):
    single = Reader(page_of([make_record(loss="margin"), make_record(loss="triplet")], tmp_path)).text()
    assert "By MAP@R; single runs have no interval." in single
    assert "hold at once" not in single
    trained = [make_record(seed=seed) for seed in range(2)]
    assert "of training" in Reader(page_of(trained, tmp_path)).text()
    text = Reader(page_of([changed(record, training__epochs=0) for record in trained], tmp_path)).text()
    assert "of measuring" in text
    assert "of training" not in text


def test_a_miniature_says_in_what_it_differs_from_the_paper(tmp_path, without_figures):
    study = replace(load_study("tiny"), follows="the text", differs="icons for <photographs>")
    runs = RunSet(records=tuple(make_study()), title="Which is best?", study=study)
    reader = Reader(build_page(runs, out=tmp_path / "page.html").read_text())
    assert "Follows the text . Differs from the paper: icons for <photographs> ." in reader.text()
    plain = Reader(build_page(replace(runs, study=None), out=tmp_path / "plain.html").read_text())
    assert "Differs from the paper" not in plain.text()


def test_garbage_files_are_left_out_and_said(tmp_path):
    records = [make_record(loss=loss, seed=seed) for loss in ("triplet", "margin") for seed in range(2)]
    rng = np.random.default_rng(0)
    for run in records:
        folder = RunFolder(tmp_path, run.name).make()
        arrays = {"embeddings": rng.normal(size=(20, 4)).astype(np.float32), "labels": np.arange(20) % 4}
        write_arrays(folder.embeddings, {**arrays, "rows": np.arange(20)})
    with warnings.catch_warnings():
        warnings.simplefilter("error", DamageWarning)
        assert "Left out" not in page_text(RunSet.in_home(records, tmp_path, title="x"))
    files = [f"{run.name}/{kind}.npz" for run in records for kind in ("embeddings", "gallery", "analyses")]
    for file in files:
        (tmp_path / "runs" / file).write_bytes(b"PK\x03\x04garbage")
    with pytest.warns(DamageWarning, match="Left out: ") as warned:
        page = page_text(RunSet.in_home(records, tmp_path, title="x"))
    assert '<h2 id="left-out-title">Left out</h2>' in page
    assert all(file in page and any(file in str(one.message) for one in warned) for file in files[:3])


@pytest.mark.usefixtures("without_figures")
def test_unfinished_studies_have_a_page_too(tmp_path):
    unfinished = [make_record(state="failed", epochs=0), make_record(seed=1, state="diverged")]
    text = Reader(page_of(unfinished, tmp_path)).text()
    assert "No run has finished, so there is no result yet." in text
    assert "diverged at step 17" in text
