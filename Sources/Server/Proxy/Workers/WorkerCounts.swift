internal import Configuration
internal import Credentials
package import Gateway
internal import Log
internal import Policy
internal import Providers
internal import Settings
internal import Generations
package import StatusModel

package struct WorkerCounts: Sendable {
  package struct ServiceRow: Sendable {
    package let name: String
    package var counts: ServiceCounts
    /// The version of the last connection to the upstream. `nil` if there was none.
    package var version: NegotiatedVersion?
  }

  package struct CredentialRow: Sendable {
    package let name: String
    package var accepted: CredentialTally.Use
    package var rejected: CredentialTally.Use
    /// Whether the credential is available in all workers.
    package var isAvailable: Bool
    /// The problem of the first worker that has one. `nil` if there is none.
    package var problem: String?
  }

  /// The counts of each service, in the order of the configuration.
  package private(set) var services: [ServiceRow]
  /// The counts of each credential, in the order of the grants.
  package private(set) var credentials: [CredentialRow]
  package private(set) var unplaced: ServiceCounts
  /// Recent refusals, newest first.
  package private(set) var recent: [RecentRefusals.Entry]
  package private(set) var pools: [DaemonStatus.Pool]
  package private(set) var connections: [Int]
  package private(set) var loops: [DaemonStatus.Loop]
  package private(set) var droppedLines: UInt64
  package private(set) var reports: ReportQueue.Counts

  init(of worker: Worker) {
    let generation = worker.generation
    services = generation.tally.services.enumerated().map { index, tally in
      ServiceRow(
        name: tally.name, counts: tally.counts, version: generation.negotiatedVersion(ofService: index))
    }
    credentials = generation.tally.credentials.enumerated().map { index, tally in
      CredentialRow(
        name: tally.name, accepted: tally.accepted, rejected: tally.rejected,
        isAvailable: worker.isAvailable(grant: index),
        problem: worker.isRenewable(grant: index) ? nil : generation.keyring.status(ofGrant: index).problem)
    }
    unplaced = generation.tally.withoutService.counts
    recent = generation.tally.recent.entries
    pools = generation.pools
    connections = [worker.connectionCount]
    loops = [DaemonStatus.Loop(of: worker)]
    droppedLines = worker.log.droppedCount
    reports = worker.reports.counts
  }

  /// Adds the counts of another worker.
  mutating func add(_ other: WorkerCounts) {
    for index in services.indices {
      guard let same = other.services.first(where: { $0.name == services[index].name }) else { continue }
      services[index].counts.add(same.counts)
      services[index].version = .merged(services[index].version, same.version)
    }
    for index in credentials.indices {
      guard let same = other.credentials.first(where: { $0.name == credentials[index].name }) else { continue }
      credentials[index].accepted.add(same.accepted)
      credentials[index].rejected.add(same.rejected)
      credentials[index].isAvailable = credentials[index].isAvailable && same.isAvailable
      credentials[index].problem = credentials[index].problem ?? same.problem
    }
    unplaced.add(other.unplaced)
    recent = Array((recent + other.recent).sorted { $0.time > $1.time }.prefix(RecentRefusals.limit))
    pools = DaemonStatus.Pool.sorted(pools + other.pools)
    connections += other.connections
    loops += other.loops
    droppedLines &+= other.droppedLines
    reports.add(other.reports)
  }
}

extension Worker {
  /// Whether requests can use the credential, now or after fetching a token.
  func isAvailable(grant index: Int) -> Bool {
    guard !generation.settings.credentials[index].isCombined, let status = providers.tokens?.status(ofGrant: index)
    else {
      return generation.keyring.isAvailable(grant: index)
    }
    return status.isAvailable
  }

  /// Whether the credential has no value now, but the next request will fetch a token.
  func isRenewable(grant index: Int) -> Bool {
    !generation.keyring.isAvailable(grant: index) && isAvailable(grant: index)
  }
}
