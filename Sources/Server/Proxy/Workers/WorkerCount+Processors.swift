internal import Configuration
internal import System

extension WorkerCount {
  /// How many that makes on this machine, now.
  package var count: Int {
    switch self {
    case .fixed(let count): count
    case .eachProcessor: min(Processors.count, WorkerCount.most)
    }
  }
}
