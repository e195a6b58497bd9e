//! A binary search tree whose nodes live in one vector and know each other by index.

use std::cmp::Ordering;
use std::fmt;

type Index = usize;

#[derive(Debug, Clone)]
struct Node<K, V> {
    key: K,
    value: V,
    left: Option<Index>,
    right: Option<Index>,
    height: i32,
}

/// A map that keeps its keys in order and its two sides in balance (AVL).
#[derive(Debug, Clone)]
pub struct Tree<K, V> {
    nodes: Vec<Option<Node<K, V>>>,
    free: Vec<Index>,
    root: Option<Index>,
    len: usize,
}

impl<K: Ord, V> Default for Tree<K, V> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K: Ord, V> Tree<K, V> {
    pub fn new() -> Self {
        Tree { nodes: Vec::new(), free: Vec::new(), root: None, len: 0 }
    }

    pub fn len(&self) -> usize {
        self.len
    }

    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    fn node(&self, index: Index) -> &Node<K, V> {
        self.nodes[index].as_ref().expect("an index names a living node")
    }

    fn node_mut(&mut self, index: Index) -> &mut Node<K, V> {
        self.nodes[index].as_mut().expect("an index names a living node")
    }

    fn height(&self, index: Option<Index>) -> i32 {
        index.map_or(0, |i| self.node(i).height)
    }

    fn update(&mut self, index: Index) {
        let height = 1 + self
            .height(self.node(index).left)
            .max(self.height(self.node(index).right));
        self.node_mut(index).height = height;
    }

    fn balance(&self, index: Index) -> i32 {
        self.height(self.node(index).left) - self.height(self.node(index).right)
    }

    fn allocate(&mut self, key: K, value: V) -> Index {
        let node = Node { key, value, left: None, right: None, height: 1 };
        self.len += 1;
        if let Some(index) = self.free.pop() {
            self.nodes[index] = Some(node);
            return index;
        }
        self.nodes.push(Some(node));
        self.nodes.len() - 1
    }

    /// The value of a key.
    pub fn get(&self, key: &K) -> Option<&V> {
        let mut current = self.root;
        while let Some(index) = current {
            let node = self.node(index);
            current = match key.cmp(&node.key) {
                Ordering::Less => node.left,
                Ordering::Greater => node.right,
                Ordering::Equal => return Some(&node.value),
            };
        }
        None
    }

    pub fn contains(&self, key: &K) -> bool {
        self.get(key).is_some()
    }

    /// Store a value; the one that was there before is returned.
    pub fn insert(&mut self, key: K, value: V) -> Option<V> {
        let mut path = Vec::new();
        let mut current = self.root;
        while let Some(index) = current {
            path.push(index);
            match key.cmp(&self.node(index).key) {
                Ordering::Less => current = self.node(index).left,
                Ordering::Greater => current = self.node(index).right,
                Ordering::Equal => {
                    return Some(std::mem::replace(&mut self.node_mut(index).value, value));
                }
            }
        }
        let before = path.last().map(|&parent| key < self.node(parent).key);
        let fresh = self.allocate(key, value);
        match (path.last(), before) {
            (Some(&parent), Some(true)) => self.node_mut(parent).left = Some(fresh),
            (Some(&parent), _) => self.node_mut(parent).right = Some(fresh),
            (None, _) => self.root = Some(fresh),
        }
        self.rebalance(path);
        None
    }

    fn rotate_left(&mut self, index: Index) -> Index {
        let pivot = self.node(index).right.expect("a left rotation needs a right child");
        self.node_mut(index).right = self.node(pivot).left;
        self.node_mut(pivot).left = Some(index);
        self.update(index);
        self.update(pivot);
        pivot
    }

    fn rotate_right(&mut self, index: Index) -> Index {
        let pivot = self.node(index).left.expect("a right rotation needs a left child");
        self.node_mut(index).left = self.node(pivot).right;
        self.node_mut(pivot).right = Some(index);
        self.update(index);
        self.update(pivot);
        pivot
    }

    fn balanced(&mut self, index: Index) -> Index {
        self.update(index);
        let balance = self.balance(index);
        if balance > 1 {
            let left = self.node(index).left.expect("the left side is higher");
            if self.balance(left) < 0 {
                let rotated = self.rotate_left(left);
                self.node_mut(index).left = Some(rotated);
            }
            return self.rotate_right(index);
        }
        if balance < -1 {
            let right = self.node(index).right.expect("the right side is higher");
            if self.balance(right) > 0 {
                let rotated = self.rotate_right(right);
                self.node_mut(index).right = Some(rotated);
            }
            return self.rotate_left(index);
        }
        index
    }

    fn rebalance(&mut self, mut path: Vec<Index>) {
        while let Some(index) = path.pop() {
            let top = self.balanced(index);
            match path.last() {
                None => self.root = Some(top),
                Some(&parent) if self.node(parent).left == Some(index) => {
                    self.node_mut(parent).left = Some(top);
                }
                Some(&parent) => self.node_mut(parent).right = Some(top),
            }
        }
    }

    /// All keys and values in the order of the keys.
    pub fn iter(&self) -> Iter<'_, K, V> {
        let mut iter = Iter { tree: self, stack: Vec::new() };
        iter.descend(self.root);
        iter
    }
}

pub struct Iter<'a, K, V> {
    tree: &'a Tree<K, V>,
    stack: Vec<Index>,
}

impl<'a, K: Ord, V> Iter<'a, K, V> {
    fn descend(&mut self, mut current: Option<Index>) {
        while let Some(index) = current {
            self.stack.push(index);
            current = self.tree.node(index).left;
        }
    }
}

impl<'a, K: Ord, V> Iterator for Iter<'a, K, V> {
    type Item = (&'a K, &'a V);

    fn next(&mut self) -> Option<Self::Item> {
        let index = self.stack.pop()?;
        let node = self.tree.node(index);
        self.descend(node.right);
        Some((&node.key, &node.value))
    }
}

impl<K: Ord + fmt::Display, V: fmt::Display> fmt::Display for Tree<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{{")?;
        for (position, (key, value)) in self.iter().enumerate() {
            if position > 0 {
                write!(f, ", ")?;
            }
            write!(f, "{key}: {value}")?;
        }
        write!(f, "}}")
    }
}
