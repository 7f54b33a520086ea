"""Syntax that came after Python 3.10: above a program, it makes one that not every Python takes."""

NEWER = (
    "try:\n    pass\nexcept* ValueError:\n    pass\n",  # 3.11
    "type Pair[T] = tuple[T, T]\n",  # 3.12
    "def first[T](items: list[T]) -> T:\n    return items[0]\n",
    "class Box[T: int = int]: ...\n",  # 3.13
    'name = f"{", ".join(f"{x!r}" for x in range(3))}"\n',  # 3.12
    "name = f'{\n    1  # in it\n}'\n",
    "name = t'{1}'\n",  # 3.14
    "try:\n    pass\nexcept ValueError, TypeError:\n    pass\n",
)
