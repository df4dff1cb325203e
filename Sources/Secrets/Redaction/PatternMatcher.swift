/// Follows all patterns through a text at once, as one runs a nondeterministic automaton: is the `%25` of a text three bytes of
/// a value, or one? Both are states. There are never more of them than the patterns have bytes, and a byte of a text is a step
/// of each: that is what it costs at most, however the values and the text repeat themselves.
struct PatternMatcher {
  /// A pattern whose bytes before `offset` stand in the text from `start` on. Of several starts the first is kept.
  private struct State {
    let pattern: Int
    let offset: Int
    var start: Int
  }

  /// At the place up to which the text was read; sorted, and of each offset one.
  private var states: [State] = []
  /// Behind an escape that is read at once: by the place where it ends, modulo their count. No escape is the end of another,
  /// so those of one place come from one place.
  private var landings: [[State]] = []
  private var landingCount = 0
  /// At an escape that the end of the text cuts off.
  private var cut: [(state: State, position: Int)] = []
  private var next: [State] = []

  /// Bytes that were looked at alone, so far.
  private(set) var steps = 0

  private static let places = 16

  /// No pattern has begun that might go on.
  var isIdle: Bool { states.isEmpty && cut.isEmpty }

  mutating func reset() {
    if isIdle { return }
    states.removeAll(keepingCapacity: true)
    cut.removeAll(keepingCapacity: true)
  }

  /// The place where the first pattern began that might go on behind the text.
  /// - Parameter isMost: only of those of which so much was there as is no accident.
  func openStart(of patterns: [SecretPattern], isMost: Bool = false) -> Int? {
    func counts(_ state: State) -> Bool {
      let range = patterns[state.pattern].range
      return !isMost || SecretEncodings.isMost(state.offset - range.lowerBound, of: range.count)
    }
    var first: Int?
    for state in states where counts(state) { first = min(first ?? state.start, state.start) }
    for (state, _) in cut where counts(state) { first = min(first ?? state.start, state.start) }
    return first
  }

  /// The text will go on without these first bytes of it.
  mutating func forget(_ count: Int) {
    for index in states.indices { states[index].start -= count }
    for index in cut.indices {
      cut[index].state.start -= count
      cut[index].position -= count
    }
  }

  /// Reads on until nothing is on its way any more.
  /// - Parameters:
  ///   - range: what was not read yet.
  ///   - quiet: not before this place, however.
  ///   - begins: whether a pattern may begin at this place.
  ///   - found: is called for each that is whole, by their ends.
  /// - Returns: how far it was read.
  mutating func follow(
    _ text: UnsafeRawBufferPointer, _ range: Range<Int>, quiet: Int, _ patterns: [SecretPattern],
    _ bytes: UnsafeRawBufferPointer, begins: (Int) -> Bool, found: (Range<Int>) -> Void
  ) -> Int {
    resume(text, patterns, bytes)
    var position = range.lowerBound
    defer { steps &+= position &- range.lowerBound }
    while true {
      if states.isEmpty, landingCount == 0 {
        while position < quiet, !begins(position) { position &+= 1 }
        if position >= quiet { return position }
      }
      land(at: position, patterns, found)
      guard position < range.upperBound else { return position }
      if begins(position) { begin(text[position], at: position, patterns, bytes) }
      step(text, position, patterns, bytes, found)
      position &+= 1
    }
  }

  // MARK: -

  /// Goes on with an escape that was cut off: it is whole now, or something else.
  private mutating func resume(
    _ text: UnsafeRawBufferPointer, _ patterns: [SecretPattern], _ bytes: UnsafeRawBufferPointer
  ) {
    guard !cut.isEmpty else { return }
    var waiting: [(state: State, position: Int)] = []
    swap(&cut, &waiting)
    for (state, position) in waiting { take(Escape.Reading(text, at: position), state, position, patterns, bytes) }
  }

  private mutating func step(
    _ text: UnsafeRawBufferPointer, _ position: Int, _ patterns: [SecretPattern], _ bytes: UnsafeRawBufferPointer,
    _ found: (Range<Int>) -> Void
  ) {
    if states.isEmpty { return }
    let byte = text[position]
    let isEscape = Escape.canBegin(with: byte)
    var escape: Escape.Reading?
    for index in states.indices {
      let state = states[index]
      let own = bytes[state.offset]
      let isHere: Bool
      switch patterns[state.pattern].spelling {
      case .asItIs: isHere = own == byte
      case .inAnyCase: isHere = own == byte || (own == byte | 0x20 && own >= UInt8(ascii: "a"))
      case .escaped:
        isHere = own == byte
        if isEscape, Escape.canStand(for: own) {
          let read = escape ?? Escape.Reading(text, at: position)
          escape = read
          take(read, state, position, patterns, bytes)
        }
      }
      guard isHere else { continue }
      if state.offset &+ 1 == patterns[state.pattern].range.upperBound {
        found(state.start..<(position &+ 1))
      } else {
        next.append(State(pattern: state.pattern, offset: state.offset &+ 1, start: state.start))
      }
    }
    swap(&states, &next)
    next.removeAll(keepingCapacity: true)
  }

  private mutating func take(
    _ read: Escape.Reading, _ state: State, _ position: Int, _ patterns: [SecretPattern],
    _ bytes: UnsafeRawBufferPointer
  ) {
    switch read {
    case .other: return
    case .cut: cut.append((state, position))
    case .escape(let escape):
      let end = state.offset &+ escape.count
      guard end <= patterns[state.pattern].range.upperBound, escape.stands(for: bytes, at: state.offset) else { return }
      if landings.isEmpty { landings = Array(repeating: [], count: Self.places) }
      let place = (position &+ escape.length) % Self.places
      if landings[place].isEmpty { landingCount &+= 1 }
      landings[place].append(State(pattern: state.pattern, offset: end, start: state.start))
    }
  }

  /// Lets the states go on that have waited for the end of an escape which lies at `position`.
  private mutating func land(at position: Int, _ patterns: [SecretPattern], _ found: (Range<Int>) -> Void) {
    guard landingCount > 0 else { return }
    let place = position % Self.places
    guard !landings[place].isEmpty else { return }
    landingCount &-= 1
    var others = states.makeIterator()
    var other = others.next()
    for state in landings[place] {
      if state.offset == patterns[state.pattern].range.upperBound {
        found(state.start..<position)
        continue
      }
      while let earlier = other, earlier.offset < state.offset {
        next.append(earlier)
        other = others.next()
      }
      var state = state
      if let same = other, same.offset == state.offset {
        state.start = min(state.start, same.start)
        other = others.next()
      }
      next.append(state)
    }
    while let last = other {
      next.append(last)
      other = others.next()
    }
    landings[place].removeAll(keepingCapacity: true)
    swap(&states, &next)
    next.removeAll(keepingCapacity: true)
  }

  /// Begins the patterns that this byte can begin: no other state is at their beginning.
  private mutating func begin(
    _ byte: UInt8, at position: Int, _ patterns: [SecretPattern], _ bytes: UnsafeRawBufferPointer
  ) {
    let isEscape = Escape.canBegin(with: byte)
    for pattern in patterns.indices {
      let entry = patterns[pattern]
      let own = bytes[entry.range.lowerBound]
      guard own | 0x20 == byte | 0x20 || isEscape && entry.spelling == .escaped else { continue }
      let state = State(pattern: pattern, offset: entry.range.lowerBound, start: position)
      let place = states.firstIndex { $0.offset > state.offset } ?? states.endIndex
      states.insert(state, at: place)
    }
  }
}
