package enum WorkerCount: Sendable, Equatable {
  case fixed(Int)
  /// One worker for each available processor.
  case eachProcessor

  package static var maximum: Int { TopKey.workers.bounds.upperBound }
}
