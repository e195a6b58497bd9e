"""Points, boxes and polygons on a plane, and a grid that finds what lies near a point."""

import math
from collections import defaultdict
from typing import Iterable, Iterator, NamedTuple


class Point(NamedTuple):
    x: float
    y: float

    def __add__(self, other):
        return Point(self.x + other.x, self.y + other.y)

    def __sub__(self, other):
        return Point(self.x - other.x, self.y - other.y)

    def scaled(self, factor):
        return Point(self.x * factor, self.y * factor)

    def distance(self, other):
        return math.hypot(self.x - other.x, self.y - other.y)

    def rotated(self, angle, around=None):
        centre = around or Point(0.0, 0.0)
        dx, dy = self.x - centre.x, self.y - centre.y
        cosine, sine = math.cos(angle), math.sin(angle)
        return Point(centre.x + dx * cosine - dy * sine, centre.y + dx * sine + dy * cosine)


class Box(NamedTuple):
    left: float
    top: float
    right: float
    bottom: float

    @classmethod
    def around(cls, points: Iterable[Point]) -> "Box":
        points = list(points)
        if not points:
            raise ValueError("a box needs at least one point")
        xs = [point.x for point in points]
        ys = [point.y for point in points]
        return cls(min(xs), min(ys), max(xs), max(ys))

    @property
    def width(self):
        return self.right - self.left

    @property
    def height(self):
        return self.bottom - self.top

    @property
    def centre(self):
        return Point((self.left + self.right) / 2, (self.top + self.bottom) / 2)

    def contains(self, point: Point) -> bool:
        return self.left <= point.x <= self.right and self.top <= point.y <= self.bottom

    def intersection(self, other: "Box"):
        left, right = max(self.left, other.left), min(self.right, other.right)
        top, bottom = max(self.top, other.top), min(self.bottom, other.bottom)
        if left > right or top > bottom:
            return None
        return Box(left, top, right, bottom)

    def grown(self, margin: float) -> "Box":
        return Box(self.left - margin, self.top - margin, self.right + margin, self.bottom + margin)


class Polygon:
    """A closed outline; its points run around it in either direction."""

    def __init__(self, points: Iterable[Point]):
        self.points = [Point(*point) for point in points]
        if len(self.points) < 3:
            raise ValueError("a polygon has at least three points")
        self.box = Box.around(self.points)

    def edges(self) -> Iterator[tuple[Point, Point]]:
        for index, point in enumerate(self.points):
            yield point, self.points[(index + 1) % len(self.points)]

    def signed_area(self) -> float:
        return sum(a.x * b.y - b.x * a.y for a, b in self.edges()) / 2

    def area(self) -> float:
        return abs(self.signed_area())

    def perimeter(self) -> float:
        return sum(a.distance(b) for a, b in self.edges())

    def centroid(self) -> Point:
        area = self.signed_area()
        if area == 0:
            return self.box.centre
        x = y = 0.0
        for a, b in self.edges():
            cross = a.x * b.y - b.x * a.y
            x += (a.x + b.x) * cross
            y += (a.y + b.y) * cross
        return Point(x / (6 * area), y / (6 * area))

    def contains(self, point: Point) -> bool:
        """Whether the point lies inside, by counting the edges a ray to the right crosses."""
        if not self.box.contains(point):
            return False
        inside = False
        for a, b in self.edges():
            if (a.y > point.y) != (b.y > point.y):
                crossing = a.x + (point.y - a.y) * (b.x - a.x) / (b.y - a.y)
                if point.x < crossing:
                    inside = not inside
        return inside

    def is_convex(self) -> bool:
        signs = set()
        count = len(self.points)
        for index in range(count):
            a, b, c = (self.points[(index + step) % count] for step in range(3))
            cross = (b.x - a.x) * (c.y - b.y) - (b.y - a.y) * (c.x - b.x)
            if cross:
                signs.add(cross > 0)
        return len(signs) < 2


def convex_hull(points: Iterable[Point]) -> list[Point]:
    """The hull of the points, counter-clockwise (Andrew's monotone chain)."""
    ordered = sorted(set(points))
    if len(ordered) < 3:
        return ordered

    def half(sequence):
        chain = []
        for point in sequence:
            while len(chain) >= 2:
                a, b = chain[-2], chain[-1]
                if (b.x - a.x) * (point.y - a.y) - (b.y - a.y) * (point.x - a.x) > 0:
                    break
                chain.pop()
            chain.append(point)
        return chain[:-1]

    return half(ordered) + half(reversed(ordered))


class Grid:
    """Things at points, found again by where they are."""

    def __init__(self, size: float):
        if size <= 0:
            raise ValueError("the size of a cell must be above 0")
        self.size = size
        self.cells = defaultdict(list)

    def __len__(self):
        return sum(len(cell) for cell in self.cells.values())

    def _cell(self, point):
        return math.floor(point.x / self.size), math.floor(point.y / self.size)

    def add(self, point, thing):
        self.cells[self._cell(point)].append((point, thing))

    def remove(self, point, thing):
        cell = self.cells.get(self._cell(point), [])
        if (point, thing) not in cell:
            raise KeyError(thing)
        cell.remove((point, thing))

    def near(self, point, radius):
        """Everything within the radius, nearest first."""
        column, row = self._cell(point)
        reach = math.ceil(radius / self.size)
        found = []
        for x in range(column - reach, column + reach + 1):
            for y in range(row - reach, row + reach + 1):
                for other, thing in self.cells.get((x, y), ()):
                    distance = point.distance(other)
                    if distance <= radius:
                        found.append((distance, thing))
        found.sort(key=lambda pair: pair[0])
        return [thing for _, thing in found]
