// A nondeterministic automaton, because an ambiguous byte leads to several states: `%25` can be three bytes of a
// secret, or an encoded percent sign. The patterns' total length limits the number of states.
/// Matches all patterns against a text in one pass.
struct PatternMatcher {
  /// A partial match: the text from `start` to the current position matches the pattern's bytes before `offset`.
  private struct State {
    let pattern: Int
    let offset: Int
    var start: Int
  }

  /// The states at the current position, sorted by `offset`, at most one for each offset.
  private var states: [State] = []
  // All states of a group come from the same escape, because two escapes never end at the same position.
  /// Partial matches that continue after an escape, grouped by the position at which the escape ends.
  private var waiting: [[State]] = []
  private var waitingEntryCount = 0
  /// Partial matches at an escape that is cut off at the end of the text.
  private var truncated: [(state: State, position: Int)] = []
  private var next: [State] = []

  /// Number of bytes that were examined individually so far.
  private(set) var steps = 0

  private static let ringSize = 16

  var isIdle: Bool { states.isEmpty && truncated.isEmpty }

  mutating func reset() {
    if isIdle { return }
    states.removeAll(keepingCapacity: true)
    truncated.removeAll(keepingCapacity: true)
  }

  /// Returns the earliest start of a partial match that may continue after the text; `nil` if there is none.
  /// - Parameter onlySignificant: ignore partial matches that may be accidental.
  func partialMatchStart(of patterns: [SecretPattern], onlySignificant: Bool = false) -> Int? {
    func counts(_ state: State) -> Bool {
      let range = patterns[state.pattern].range
      return !onlySignificant || SecretEncodings.isSignificant(state.offset - range.lowerBound, of: range.count)
    }
    var first: Int?
    for state in states where counts(state) { first = min(first ?? state.start, state.start) }
    for (state, _) in truncated where counts(state) { first = min(first ?? state.start, state.start) }
    return first
  }

  /// Adjusts all positions after the first `count` bytes were removed from the text.
  mutating func discardPrefix(_ count: Int) {
    for index in states.indices { states[index].start -= count }
    for index in truncated.indices {
      truncated[index].state.start -= count
      truncated[index].position -= count
    }
  }

  /// Reads the bytes of `range` to begin and continue partial matches, and returns the position of the first unread
  /// byte.
  /// - Parameters:
  ///   - quiet: position from which the function stops as soon as there is no partial match.
  ///   - bytes: the bytes of all patterns.
  ///   - begins: returns whether a pattern may begin at a position.
  ///   - found: called with each complete match, in the order of their ends.
  mutating func advance(
    _ text: UnsafeRawBufferPointer, _ range: Range<Int>, quiet: Int, _ patterns: [SecretPattern],
    _ bytes: UnsafeRawBufferPointer, begins: (Int) -> Bool, found: (Range<Int>) -> Void
  ) -> Int {
    resume(text, patterns, bytes)
    var position = range.lowerBound
    defer { steps &+= position &- range.lowerBound }
    while true {
      if states.isEmpty, waitingEntryCount == 0 {
        while position < quiet, !begins(position) { position &+= 1 }
        if position >= quiet { return position }
      }
      resumeWaiting(at: position, patterns, found)
      guard position < range.upperBound else { return position }
      if begins(position) { begin(text[position], at: position, patterns, bytes) }
      step(text, position, patterns, bytes, found)
      position &+= 1
    }
  }

  // MARK: steps

  private mutating func resume(
    _ text: UnsafeRawBufferPointer, _ patterns: [SecretPattern], _ bytes: UnsafeRawBufferPointer
  ) {
    guard !truncated.isEmpty else { return }
    var retried: [(state: State, position: Int)] = []
    swap(&truncated, &retried)
    for (state, position) in retried {
      apply(Escape.DecodingResult(text, at: position), state, position, patterns, bytes)
    }
  }

  private mutating func step(
    _ text: UnsafeRawBufferPointer, _ position: Int, _ patterns: [SecretPattern], _ bytes: UnsafeRawBufferPointer,
    _ found: (Range<Int>) -> Void
  ) {
    if states.isEmpty { return }
    let byte = text[position]
    let isEscape = Escape.canBegin(with: byte)
    var escape: Escape.DecodingResult?
    for index in states.indices {
      let state = states[index]
      let own = bytes[state.offset]
      let isMatch: Bool
      switch patterns[state.pattern].spelling {
      case .asItIs: isMatch = own == byte
      case .inAnyCase: isMatch = own == byte || (own == byte | 0x20 && own >= UInt8(ascii: "a"))
      case .escaped:
        isMatch = own == byte
        if isEscape, Escape.canEncode(own) {
          let read = escape ?? Escape.DecodingResult(text, at: position)
          escape = read
          apply(read, state, position, patterns, bytes)
        }
      }
      guard isMatch else { continue }
      if state.offset &+ 1 == patterns[state.pattern].range.upperBound {
        found(state.start..<(position &+ 1))
      } else {
        next.append(State(pattern: state.pattern, offset: state.offset &+ 1, start: state.start))
      }
    }
    swap(&states, &next)
    next.removeAll(keepingCapacity: true)
  }

  private mutating func apply(
    _ read: Escape.DecodingResult, _ state: State, _ position: Int, _ patterns: [SecretPattern],
    _ bytes: UnsafeRawBufferPointer
  ) {
    switch read {
    case .notAnEscape: return
    case .truncated: truncated.append((state, position))
    case .escape(let escape):
      let end = state.offset &+ escape.count
      guard end <= patterns[state.pattern].range.upperBound, escape.matches(bytes, at: state.offset) else { return }
      if waiting.isEmpty { waiting = Array(repeating: [], count: Self.ringSize) }
      let slot = (position &+ escape.length) % Self.ringSize
      if waiting[slot].isEmpty { waitingEntryCount &+= 1 }
      waiting[slot].append(State(pattern: state.pattern, offset: end, start: state.start))
    }
  }

  /// Continues the partial matches that waited for an escape that ends at `position`.
  private mutating func resumeWaiting(at position: Int, _ patterns: [SecretPattern], _ found: (Range<Int>) -> Void) {
    guard waitingEntryCount > 0 else { return }
    let slot = position % Self.ringSize
    guard !waiting[slot].isEmpty else { return }
    waitingEntryCount &-= 1
    var others = states.makeIterator()
    var other = others.next()
    for state in waiting[slot] {
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
    waiting[slot].removeAll(keepingCapacity: true)
    swap(&states, &next)
    next.removeAll(keepingCapacity: true)
  }

  private mutating func begin(
    _ byte: UInt8, at position: Int, _ patterns: [SecretPattern], _ bytes: UnsafeRawBufferPointer
  ) {
    let isEscape = Escape.canBegin(with: byte)
    for pattern in patterns.indices {
      let entry = patterns[pattern]
      let own = bytes[entry.range.lowerBound]
      guard own | 0x20 == byte | 0x20 || isEscape && entry.spelling == .escaped else { continue }
      let state = State(pattern: pattern, offset: entry.range.lowerBound, start: position)
      let insertion = states.firstIndex { $0.offset > state.offset } ?? states.endIndex
      states.insert(state, at: insertion)
    }
  }
}
