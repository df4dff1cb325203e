internal import Log
package import EventLoop
internal import Gateway
package import Generations
internal import Policy
internal import StatusModel
internal import System
internal import TLS
internal import Transport

/// Opens TLS connections to upstreams without a request, to find a wrong pin or certificate before a program does. One
/// connection at a time.
package final class Probes: DeadlineOwner {
  private struct Plan {
    let service: Service
    /// When the next probe is due, in milliseconds of the loop's clock; `nil` if there is no further probe.
    var due: UInt64?
  }

  private let worker: Worker
  private var plans: [Plan] = []
  /// The index of the plan whose probe is in progress.
  private var current: Int?
  private var connector: Connector?

  package init(worker: Worker) { self.worker = worker }

  /// Adopts a configuration. Services that have not changed keep their time.
  package func update(to generation: Generation) {
    connector?.cancel()
    connector = nil
    let before = Dictionary(plans.map { ($0.service.name, $0) }) { first, _ in first }
    if let current { plans[current].due = worker.loop.now }
    current = nil
    plans = generation.snapshot.rules.services.map { service in
      guard service.options.probe != nil, service.upstream.origin.scheme == .https else {
        return Plan(service: service, due: nil)
      }
      if let known = before[service.name], known.service.upstream == service.upstream,
        known.service.trust == service.trust, known.service.options.probe == service.options.probe
      {
        return Plan(service: service, due: known.due)
      }
      return Plan(service: service, due: worker.loop.now)
    }
    continueProbing()
  }

  private func continueProbing() {
    guard connector == nil, current == nil, !worker.isDraining else { return }
    guard let next = plans.indices.filter({ plans[$0].due != nil }).min(by: { plans[$0].due! < plans[$1].due! }),
      let due = plans[next].due
    else { return worker.context.deadlines.schedule(self, at: .max) }
    guard due <= worker.loop.now else { return worker.context.deadlines.schedule(self, at: due) }
    probe(next)
  }

  package override func deadlinePassed() { continueProbing() }

  private func probe(_ index: Int) {
    let plan = plans[index]
    current = index
    let generation = worker.generation
    do throws(TLSError) {
      guard let pool = try generation.makeProbePool(ofService: index) else { return finish(index, nil) }
      let connector = Connector(
        pool: pool, timeouts: plan.service.timeouts, tally: generation.tally.services[index], context: worker.context
      ) { [unowned self] outcome in
        switch outcome {
        case .success(let connection):
          connection.close()
          finish(index, nil)
        case .failure(let failure): finish(index, failure)
        }
      }
      self.connector = connector
      connector.start()
    } catch {
      finish(index, ConnectFailure(error.kind.refusal, error.detail))
    }
  }

  private func finish(_ index: Int, _ failure: ConnectFailure?) {
    connector = nil
    current = nil
    let service = plans[index].service
    plans[index].due = service.options.probe.map { worker.loop.now + $0 }
    let tally = worker.generation.tally.services[index]
    if tally.record(UpstreamProbe(at: Clock.now.seconds, refusal: failure?.refusal.code)) {
      let names = [("service", service.name), ("upstream", service.upstream.origin.description)]
      if let failure {
        worker.log.event(
          .probe, names[0], names[1], ("refused", failure.refusal.code.row.code.description), ("detail", failure.detail)
        )
      } else {
        worker.log.event(.probe, at: .notice, names[0], names[1])
      }
    }
    // Later, so that a failure without a turn of the loop does not nest.
    worker.context.deadlines.schedule(self, at: worker.loop.now)
  }

  package func close() {
    connector?.cancel()
    connector = nil
    plans = []
    worker.context.deadlines.cancel(self)
  }
}
