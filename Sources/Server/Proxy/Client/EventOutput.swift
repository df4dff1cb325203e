internal import Gateway

/// The state machine's output for one event. A class, because a value would be copied each time that it is lent.
final class EventOutput {
  // Used by one event at a time, so exclusivity is not checked. A nested event gets a different buffer.
  #if !DEBUG
    @exclusivity(unchecked)
  #endif
  var output = Output()
}
