"""Names next to marks: they cover neither each other nor the marks, as long as there is room."""

from fairground.reporting.label_places import label_shifts


def test_a_lone_name_stands_right_of_its_mark_and_left_of_it_at_the_right_edge():
    assert label_shifts([(100, 50)], ["triplet"], 300) == [(7.0, 0.0)]
    assert label_shifts([(290, 50)], ["triplet"], 300) == [(-7.0, 0.0)]


def test_names_of_marks_on_one_spot_do_not_cover_each_other():
    shifts = label_shifts([(100, 50)] * 6, ["n_pair"] * 6, 300)
    assert len(set(shifts)) == 6


def test_a_name_gives_way_to_a_mark():
    (first, _) = label_shifts([(100, 50), (120, 50)], ["proxy_nca", "snr"], 300)
    assert first != (7.0, 0.0)
