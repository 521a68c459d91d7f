from clsnet.cli.alike import grouped


def test_three_hundred_warnings_become_one_line():
    lines = [f"class {i} has {i % 2 + 1} photos: more would help" for i in range(300)]
    assert grouped(lines) == [
        "class 0 has 1 photos, class 1 has 2 photos, class 2 has 1 photos and 297 more: "
        "more would help"
    ]
    broken = [f"cannot read the image {i}.png: not an image; remove it" for i in range(4)]
    assert grouped([*lines, *broken])[1] == (
        "cannot read the images 0.png, 1.png, 2.png and 1 more: not an image; remove it"
    )


def test_the_words_that_open_many_lines_come_once():
    lines = [f"cannot read /photos/{i}.png: Permission denied" for i in range(5)]
    assert grouped(lines) == [
        "cannot read /photos/0.png, /photos/1.png, /photos/2.png and 2 more: Permission denied"
    ]


def test_lines_whose_numbers_differ_are_counted():
    lines = [f"class {i}: {i + 2} .cr2 files were not read" for i in range(2000)]
    assert grouped(lines) == ["class 0: 2 .cr2 files were not read (and 1,999 more like this)"]


def test_few_lines_and_others_stay_as_they_are_in_order():
    lines = ["b: x", "a link", "a: y", "c: x", "d: x", "3 links", "a: z"]
    assert grouped(lines) == ["b: x", "c: x", "d: x", "a link", "a: y", "3 links", "a: z"]
    assert grouped([]) == []
