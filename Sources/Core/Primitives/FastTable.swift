/// Values by small numbers or by objects, such as what belongs to the streams of a connection.
///
/// A hash table with linear probing. HTTP/2 needs several lookups for each frame, and those of `Dictionary` take about a hundred
/// instructions, because its hash resists keys that a peer has chosen. Here, such a peer can make a lookup as slow as there are
/// entries, so use this table only where their number has a small limit. `public`, because the compiler specializes no `package` types
/// for other modules.
@frozen public struct FastTable<Value> {
  /// The keys. 0 is a free place.
  @usableFromInline var numbers: [UInt] = []
  @usableFromInline var values: [Value?] = []
  @usableFromInline var used = 0

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
    if 2 &* count >= numbers.count { grow() }
    let index = place(of: number)
    if numbers[index] == 0 {
      numbers[index] = number
      used &+= 1
    }
    values[index] = value
  }

  @inlinable mutating func remove(_ number: UInt) -> Value? {
    guard count > 0, number != 0 else { return nil }
    var hole = place(of: number)
    guard numbers[hole] == number else { return nil }
    let value = values[hole]
    // Moves the entries behind it that would not be found any more.
    let mask = numbers.count &- 1
    var index = (hole &+ 1) & mask
    while numbers[index] != 0 {
      let distance = (index &- home(of: numbers[index])) & mask
      if distance >= (index &- hole) & mask {
        numbers[hole] = numbers[index]
        values.swapAt(hole, index)
        hole = index
      }
      index = (index &+ 1) & mask
    }
    numbers[hole] = 0
    values[hole] = nil
    used &-= 1
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
    // Fibonacci hashing: the upper bits of the product depend on all bits of the number.
    Int(truncatingIfNeeded: (UInt64(number) &* 0x9E37_79B9_7F4A_7C15) &>> 32) & (numbers.count &- 1)
  }

  /// The place of the number, or the free place where it belongs.
  @inlinable @inline(__always)
  func place(of number: UInt) -> Int {
    let mask = numbers.count &- 1
    var index = home(of: number)
    while numbers[index] != number, numbers[index] != 0 { index = (index &+ 1) & mask }
    return index
  }

  @inlinable mutating func grow() {
    let old = self
    let size = max(8, 2 &* old.numbers.count)
    numbers = [UInt](repeating: 0, count: size)
    values = [Value?](repeating: nil, count: size)
    used = 0
    for index in old.numbers.indices where old.numbers[index] != 0 {
      if let value = old.values[index] { set(value, for: old.numbers[index]) }
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
