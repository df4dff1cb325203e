internal import Gateway

/// The state machine's output for one event.
final class EventOutput {
  // Used by one event at a time, so exclusivity is not checked. A nested event gets a different buffer.
  #if !DEBUG
    @exclusivity(unchecked)
  #endif
  var output = Output()
}
