internal import Gateway

/// The state machine's output for one event.
final class EventOutput {
  var output = Output()
}
