import hashlib

from solbench.judge._seeds import SeedBook


def test_seeds_differ_and_repeat_only_with_the_secret():
    book, other = SeedBook(), SeedBook()
    seeds = [book.seed(call) for call in range(100)]
    assert len({*seeds, *(other.seed(call) for call in range(100))}) == 200
    assert all(0 <= seed < 2**63 for seed in seeds)
    assert SeedBook(book.secret).seed(7) == seeds[7]


def test_the_opening_proves_the_commitment():
    book = SeedBook()
    assert hashlib.sha256(bytes.fromhex(book.opening)).hexdigest() == book.commitment


def test_the_secret_does_not_show_in_logs():
    book = SeedBook()
    assert book.opening not in repr(book)
    assert repr(book.secret) not in repr(book)
