import numpy as np
import pytest

from fairground.datasets import TableDataset
from fairground.errors import DataError
from tests.datasets.pictures import picture

FULL = (
    "path,label,split,query,gallery,group,category,x1,y1,x2,y2\n"
    "img/0.png,10,train,,,1,birds,0,0,8,8\n"
    "img/1.png,10,train,false,no,2,birds,2,2,10,12\n"
    "img/2.png,2,val,0,0,2,cars,0,0,20,16\n"
    "img/3.png,33,test,True,0,3,cars,1,1,9,9.0\n"
    "img/4.png,33,test,0,1,4,cars,0,0,8,8\n"
)


@pytest.fixture
def home(tmp_path):
    for number in range(5):
        picture(tmp_path / "img" / f"{number}.png", number)
    return tmp_path


def load(home, content, **settings):
    (home / "table.csv").write_text(content, encoding="utf-8")
    return TableDataset(path=str(home / "table.csv"), **settings).load()


def test_every_column_arrives_where_it_belongs(home):
    table = load(home, FULL)
    # Numbered classes stand in order of number.
    assert table.class_names == ("2", "10", "33")
    assert table.labels.tolist() == [1, 1, 0, 2, 2]
    assert table.listed_parts.tolist() == ["train", "train", "validation", "test", "test"]
    assert table.official_test.tolist() == [False, False, False, True, True]
    assert table.is_query.tolist() == [False, False, False, True, False]
    assert table.is_gallery.tolist() == [False, False, False, False, True]
    assert table.groups.tolist() == [0, 1, 1, 2, 3]
    assert table.super_labels.tolist() == [0, 0, 1, 1, 1]
    assert table.identifiers[4] == "img/4.png"
    assert table.images.sizes(np.arange(5)).tolist() == [[8, 8], [10, 8], [16, 20], [8, 8], [8, 8]]


def test_super_classes_of_super_classes(home):
    content = FULL.replace("category", "super_label").splitlines()
    content = [content[0] + ",super_label_2", *(f"{line},all" for line in content[1:])]
    table = load(home, "\n".join(content))
    assert table.super_labels.tolist() == [0, 0, 1, 1, 1]
    assert table.wider_labels.tolist() == [[0]] * 5
    assert table.levels().tolist() == [[1, 0, 0], [1, 0, 0], [0, 1, 0], [2, 1, 0], [2, 1, 0]]


def test_a_table_of_train_and_validation_holds_out_the_latter(home):
    table = load(home, "path,label,split\nimg/0.png,a,train\nimg/1.png,b,validation\n")
    assert table.official_test.tolist() == [False, True]


def test_an_image_without_a_box_stays_whole(home):
    table = load(home, "path,label,x_1,y_1,x_2,y_2\nimg/0.png,a,2,2,10,12\nimg/1.png,a,,,,\n")
    assert table.images.sizes(np.arange(2)).tolist() == [[10, 8], [16, 20]]
    assert table.images.take(np.array([1])).shape == (1, 3, 16, 20)


def test_two_columns_are_enough_and_others_are_noted(home):
    table = load(home, "label,path,weather\nb,img/0.png,fine\na,img/1.png,foul\n")
    assert table.class_names == ("a", "b")
    assert table.labels.tolist() == [1, 0]
    assert (table.listed_parts, table.is_query, table.groups, table.official_test) == (None, None, None, None)
    assert table.notes == ("data: columns of the table not used: weather",)


def test_paths_may_lie_below_another_root_or_be_absolute(home, tmp_path_factory):
    other = tmp_path_factory.mktemp("elsewhere")
    (other / "t.csv").write_text(f"path,label\nimg/0.png,a\n{home / 'img' / '1.png'},b\n")
    table = TableDataset(path=str(other / "t.csv"), root=str(home)).load()
    assert table.images.take(np.arange(2)).shape == (2, 3, 16, 20)


def test_parquet_and_the_names_of_open_metric_learning_say_the_same(home):
    from pyarrow import csv, parquet

    names = "path,label,split,is_query,is_gallery,sequence,category,x_1,y_1,x_2,y_2\n"
    theirs, ours = load(home, names + FULL.partition("\n")[2]), load(home, FULL)
    parquet.write_table(csv.read_csv(home / "table.csv"), home / "table.parquet")
    for other in (theirs, TableDataset(path=str(home / "table.parquet")).load()):
        for column in ("labels", "listed_parts", "is_query", "is_gallery", "groups", "super_labels"):
            assert getattr(ours, column).tolist() == getattr(other, column).tolist()
        assert ours.class_names == other.class_names
        assert ours.images.fingerprint() == other.images.fingerprint()


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("", "is empty; its first line must name the columns"),
        ("path,label\n", "has no rows"),
        ("path,lable\nimg/0.png,a\n", r"has no column 'label'. Did you mean 'lable'\? It has: path, lable."),
        ("path,label\nimg/0.png,\n", "row 1 of 'label' must be filled; got ''"),
        ("path,label,label\nimg/0.png,a,b\n", "names a column twice"),
        ("path,label\nimg/0.png\n", "row 1 has 1 cells for 2 columns"),
        ("path,label,split\nimg/0.png,a,trian\n", "a split is train, validation or test, or empty; got 'trian'"),
        ("path,label,query\nimg/0.png,a,1\n", "has a column for queries only; both are needed"),
        ("path,label,gallery\nimg/0.png,a,1\n", "has a column for a gallery only; both are needed"),
        ("path,label,query,gallery\nimg/0.png,a,maybe,1\n", "row 1 of 'query' must be true or false; got 'maybe'"),
        ("path,label,query,is_query,gallery\nimg/0.png,a,1,1,1\n", "has both query and is_query, which mean the same"),
        ("path,label,x1,y1\nimg/0.png,a,1,1\n", "has x1, y1; a box needs all of x1, y1, x2, y2"),
        ("path,label,x1,y1,x2,y2\nimg/0.png,a,1,1,1,5\n", r"1 boxes are empty .* row 1: \[1, 1, 1, 5\]"),
        ("path,label,x1,y1,x2,y2\nimg/0.png,a,1,1,,5\n", "boxes lack some of their edges; the first is in row 1"),
        ("path,label,x1,y1,x2,y2\nimg/0.png,a,1,1,b,5\n", "row 1 of 'x2' must be a whole number; got 'b'"),
        ("path,label,x1,y1,x2,y2\nimg/0.png,a,1,1,1e99,5\n", "row 1 of 'x2' must be a whole number; got '1e99'"),
        ("path,label\nimg/9.png,a\n", "1 of 1 images are not in .*: 'img/9.png'"),
        ('path,label\n"img/0.png,a\n', "is not a readable CSV file in UTF-8"),
    ],
)
def test_a_table_that_cannot_be_used_is_refused(home, content, sentence):
    with pytest.raises(DataError, match=sentence):
        load(home, content)


def test_a_column_of_several_labels(home):
    table = load(home, "path,labels\nimg/0.png,red|round\nimg/1.png,round\nimg/2.png,small|red\n")
    assert table.class_names == ("red", "round", "small")
    assert table.labels.tolist() == [0, 1, 2]
    assert table.label_sets.tolist() == [[1, 1, 0], [0, 1, 0], [1, 0, 1]]
    with pytest.raises(DataError, match="has both label and labels, which mean the same"):
        load(home, "path,label,labels\nimg/0.png,a,a|b\n")
