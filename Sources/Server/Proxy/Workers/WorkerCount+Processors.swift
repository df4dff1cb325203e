internal import Configuration
internal import Settings
internal import System

extension WorkerCount {
  /// The number of workers to start.
  package var count: Int {
    switch self {
    case .fixed(let count): count
    case .eachProcessor: min(Processors.count, WorkerCount.maximum)
    }
  }
}
