use std::f64::consts::PI;
use std::fmt;

pub const EPSILON: f64 = 1e-9;

/// A point of the plane.
#[derive(Debug, Clone)]
pub struct Point {
    pub x: f64,
    pub y: f64,
}

pub enum Shape {
    Circle(Point, f64),
    Square(Point, f64),
}

pub trait Area {
    fn area(&self) -> f64;
}

impl Point {
    pub fn new(x: f64, y: f64) -> Self {
        Point { x, y }
    }

    pub fn distance(&self, other: &Point) -> f64 {
        let dx = self.x - other.x;
        let dy = self.y - other.y;
        (dx * dx + dy * dy).sqrt()
    }
}

impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "({}, {})", self.x, self.y)
    }
}

impl Area for Shape {
    fn area(&self) -> f64 {
        match self {
            Shape::Circle(_, r) => PI * r * r,
            Shape::Square(_, a) => a * a,
        }
    }
}

pub fn parse_point(text: &str) -> Option<Point> {
    let mut parts = text.split(',');
    let x = parts.next()?.parse().unwrap();
    let y = parts.next()?.parse().unwrap();
    Some(Point::new(x, y))
}

pub fn total_area(shapes: &[Shape]) -> f64 {
    let mut sum = 0.0;
    for shape in shapes {
        sum += shape.area();
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses() {
        assert!(parse_point("1,2").is_some());
    }
}
