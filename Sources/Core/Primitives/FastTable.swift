/// Values by small numbers or by objects, such as what belongs to the streams of a connection.
///
/// A hash table with linear probing. HTTP/2 needs several lookups for each frame, and those of `Dictionary` take about a hundred
/// instructions. If many keys come together, which a peer can cause, the table continues with a random hash. `public`, because the
/// compiler specializes no `package` types for other modules.
@frozen public struct FastTable<Value> {
  /// The keys. 0 is a free place.
  @usableFromInline var numbers: [UInt] = []
  @usableFromInline var values: [Value?] = []
  @usableFromInline var used = 0
  /// Odd. The first one spreads ascending numbers evenly (Fibonacci hashing).
  @usableFromInline var multiplier: UInt64 = 0x9E37_79B9_7F4A_7C15

  /// Creates an empty table, without memory.
  @inlinable public init() {}

  /// Number of values.
  @inlinable public var count: Int { used }
  /// Whether there are no values.
  @inlinable public var isEmpty: Bool { used == 0 }

  @inlinable @inline(__always)
  subscript(number: UInt) -> Value? {
    guard count > 0, number != 0 else { return nil }
    let index = place(of: number)
    return numbers[index] == number ? values[index] : nil
  }

  @inlinable @inline(__always)
  func contains(_ number: UInt) -> Bool {
    count > 0 && number != 0 && numbers[place(of: number)] == number
  }

  @inlinable mutating func set(_ value: Value, for number: UInt) {
    if 2 &* count >= numbers.count { resize(to: max(8, 2 &* numbers.count)) }
    var index = place(of: number)
    if distance(from: home(of: number), to: index) > Self.longDistance {
      scatter()
      index = place(of: number)
    }
    if numbers[index] == 0 {
      numbers[index] = number
      used &+= 1
    }
    values[index] = value
  }

  @inlinable mutating func remove(_ number: UInt) -> Value? {
    guard count > 0, number != 0 else { return nil }
    let removed = place(of: number)
    var hole = removed
    guard numbers[hole] == number else { return nil }
    let value = values[hole]
    // Moves the entries behind it that would not be found any more.
    let mask = numbers.count &- 1
    var index = (hole &+ 1) & mask
    while numbers[index] != 0 {
      if distance(from: home(of: numbers[index]), to: index) >= distance(from: hole, to: index) {
        numbers[hole] = numbers[index]
        values.swapAt(hole, index)
        hole = index
      }
      index = (index &+ 1) & mask
    }
    numbers[hole] = 0
    values[hole] = nil
    used &-= 1
    if distance(from: removed, to: index) > Self.longDistance { scatter() }
    return value
  }

  /// Keeps the memory, unless it is much.
  @inlinable public mutating func removeAll() {
    if count == 0 { return }
    if numbers.count > 256 {
      (numbers, values) = ([], [])
    } else {
      for index in numbers.indices where numbers[index] != 0 {
        numbers[index] = 0
        values[index] = nil
      }
    }
    used = 0
  }

  /// All values, in no particular order.
  @inlinable public var all: [Value] { values.compactMap { $0 } }

  @inlinable @inline(__always)
  func home(of number: UInt) -> Int {
    // Multiply-shift hashing: these bits of the product depend on all lower bits of the number.
    Int(truncatingIfNeeded: (UInt64(number) &* multiplier) &>> 32) & (numbers.count &- 1)
  }

  /// The place of the number, or the free place where it belongs.
  @inlinable @inline(__always)
  func place(of number: UInt) -> Int {
    let mask = numbers.count &- 1
    var index = home(of: number)
    while numbers[index] != number, numbers[index] != 0 { index = (index &+ 1) & mask }
    return index
  }

  @inlinable @inline(__always)
  func distance(from home: Int, to index: Int) -> Int { (index &- home) & (numbers.count &- 1) }

  /// In a table that is at most half full, hardly any number is so far from its home, or from the next free place, unless a peer has
  /// chosen the numbers.
  @inlinable static var longDistance: Int { 128 }

  /// Continues with a random hash, which a peer does not know.
  @inlinable @inline(never)
  mutating func scatter() {
    multiplier = .random(in: 0 ... .max) | 1
    resize(to: numbers.count)
  }

  @inlinable @inline(never)
  mutating func resize(to size: Int) {
    let old = self
    numbers = [UInt](repeating: 0, count: size)
    values = [Value?](repeating: nil, count: size)
    for index in old.numbers.indices where old.numbers[index] != 0 {
      let new = place(of: old.numbers[index])
      (numbers[new], values[new]) = (old.numbers[index], old.values[index])
    }
  }
}

// Stream numbers as keys.
extension FastTable {
  /// The value of a number. 0 has none.
  @inlinable @inline(__always)
  public subscript(number: Int32) -> Value? { self[UInt(truncatingIfNeeded: number)] }

  /// Whether a number has a value.
  @inlinable @inline(__always)
  public func contains(_ number: Int32) -> Bool { contains(UInt(truncatingIfNeeded: number)) }

  /// Sets the value of a number, which must not be 0.
  @inlinable @inline(__always)
  public mutating func set(_ value: Value, for number: Int32) { set(value, for: UInt(truncatingIfNeeded: number)) }

  /// Removes and returns the value of a number.
  @inlinable @inline(__always) @discardableResult
  public mutating func remove(_ number: Int32) -> Value? { remove(UInt(truncatingIfNeeded: number)) }
}

// Objects as keys, by their identity. The table does not keep them alive, so the owner must remove them in time.
extension FastTable {
  /// The value of an object.
  @inlinable @inline(__always)
  public subscript(object: AnyObject) -> Value? { self[UInt(bitPattern: ObjectIdentifier(object))] }

  /// Whether an object has a value.
  @inlinable @inline(__always)
  public func contains(_ object: AnyObject) -> Bool { contains(UInt(bitPattern: ObjectIdentifier(object))) }

  /// Sets the value of an object.
  @inlinable @inline(__always)
  public mutating func set(_ value: Value, for object: AnyObject) {
    set(value, for: UInt(bitPattern: ObjectIdentifier(object)))
  }

  /// Removes and returns the value of an object.
  @inlinable @inline(__always) @discardableResult
  public mutating func remove(_ object: AnyObject) -> Value? { remove(UInt(bitPattern: ObjectIdentifier(object))) }
}
