internal import Gateway

/// The memory of one output of the machines. A class, because an output is lent and given back several times in a request, and a
/// value would be copied each time.
final class EventOutput {
  /// Reached by one event at a time, because the worker lends a buffer to one event and has another one for an event within it.
  #if !DEBUG
    @exclusivity(unchecked)
  #endif
  var output = Output()
}
