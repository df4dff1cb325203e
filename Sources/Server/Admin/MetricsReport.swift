internal import Audit
internal import Credentials
internal import Gateway
internal import Log
internal import Policy
internal import Primitives
internal import Providers
package import Proxy
internal import Setup
internal import System

/// The answer to a scrape: every counter, in Prometheus' text format. Labels have their values from the configuration, or from
/// lists that are fixed here; nothing of a request gets into one.
package struct MetricsReport {
  private let worker: Worker
  private let counts: WorkerCounts
  private var text = Exposition()

  /// - Parameter counts: of all workers.
  package static func bytes(of worker: Worker, _ counts: WorkerCounts) -> [UInt8] {
    var report = MetricsReport(worker: worker, counts: counts)
    report.requests()
    report.upstreams()
    report.connections()
    report.credentials()
    report.configuration()
    report.loops()
    report.process()
    return report.text.bytes
  }

  private init(worker: Worker, counts: WorkerCounts) {
    self.worker = worker
    self.counts = counts
  }

  private var generation: Generation { worker.providers.generation }
  private var services: [Service] { generation.snapshot.rules.services }
  private var tallies: [WorkerCounts.ServiceRow] { counts.services }

  // MARK: requests

  private mutating func requests() {
    let classes = (1...ServiceCounts.statusClasses).map { "\($0)xx" }
    text.begin(
      "bearerd_requests_total", .counter, "Exchanges that ended, by the rule that decided and the class of the status.")
    for (service, tally) in zip(services, tallies) {
      for row in 0...(service.rules?.count ?? 0) {
        for (index, name) in classes.enumerated() {
          let rule = row == 0 ? "none" : String(row)
          text.sample(
            [("service", service.name), ("rule", rule), ("status", name)],
            tally.counts.requests(row: row, statusClass: index))
        }
      }
    }
    for (index, name) in classes.enumerated() {
      text.sample(
        [("service", ""), ("rule", "none"), ("status", name)],
        counts.unplaced.requests(row: 0, statusClass: index))
    }
    text.begin("bearerd_refusals_total", .counter, "Answers of our own, by the last part of their type.")
    for tally in tallies + [WorkerCounts.ServiceRow(name: "", counts: counts.unplaced)] {
      for code in RefusalCode.allCases {
        let count = tally.counts.refusals(code)
        guard count > 0 || code.isOrdinary(placed: !tally.name.isEmpty) else { continue }
        text.sample([("service", tally.name), ("code", code.row.code.description)], count)
      }
    }
    perService("bearerd_request_body_bytes_total", "Bytes of bodies that went up.", \.bytesUp)
    perService("bearerd_response_body_bytes_total", "Bytes of bodies that came down.", \.bytesDown)
    perService(
      "bearerd_retries_total", "Requests that went out twice, on a connection that had proved stale.", \.retries)
    perService(
      "bearerd_redactions_total", "Places of answers where the credential came back and was masked.", \.redactions)
  }

  private mutating func perService(_ name: String, _ help: String, _ value: KeyPath<ServiceCounts, UInt64>) {
    text.begin(name, .counter, help)
    for tally in tallies { text.sample([("service", tally.name)], tally.counts[keyPath: value]) }
  }

  // MARK: upstreams

  private mutating func upstreams() {
    times(
      "bearerd_upstream_connect_seconds", "Until TCP connections to upstreams stood, without the lookup of the name.",
      \.connect)
    times(
      "bearerd_upstream_handshake_seconds", "Until TLS handshakes with upstreams were finished and judged.", \.handshake
    )
    times("bearerd_upstream_response_head_seconds", "From a request's head to that of its answer.", \.responseHead)
    text.begin("bearerd_upstream_handshakes_total", .counter, "TLS handshakes that were finished and found good.")
    for tally in tallies {
      text.sample([("service", tally.name), ("type", "full")], tally.counts.fullHandshakes)
      text.sample([("service", tally.name), ("type", "resumed")], tally.counts.resumedHandshakes)
    }
    text.begin("bearerd_pin_results_total", .counter, "What connections to pinned services came to.")
    for (service, tally) in zip(services, tallies) where !service.trust.pinning.pins.isEmpty {
      text.sample([("service", tally.name), ("result", "matched")], tally.counts.pinsMatched)
      text.sample([("service", tally.name), ("result", "mismatched")], tally.counts.pinsMismatched)
      text.sample([("service", tally.name), ("result", "reported")], tally.counts.pinsReported)
    }
    text.begin("bearerd_upstream_connections", .gauge, "Connections to upstreams now.")
    for pool in counts.pools {
      let labels = [("upstream", pool.upstream), ("credential", pool.credential)]
      text.sample(labels + [("state", "idle")], UInt64(pool.idle))
      text.sample(labels + [("state", "active")], UInt64(pool.active))
    }
  }

  private mutating func times(_ name: String, _ help: String, _ histogram: KeyPath<ServiceCounts, Histogram>) {
    text.begin(name, .histogram, help)
    for tally in tallies { text.sample([("service", tally.name)], tally.counts[keyPath: histogram]) }
  }

  // MARK: the rest

  private mutating func connections() {
    text.begin("bearerd_client_connections", .gauge, "Connections of programs now.")
    text.sample(UInt64(counts.connections.reduce(0, +)))
    text.begin("bearerd_client_connections_total", .counter, "Connections of programs that were accepted.")
    for slot in worker.acceptor?.slots ?? [] { text.sample([("listener", slot.name)], slot.accepted) }
  }

  private mutating func credentials() {
    let keyring = generation.keyring
    let names = generation.snapshot.rules.grants.map(\.name)
    func each(_ write: (Exposition.Labels, Int) -> Void) {
      for (index, name) in names.enumerated() { write([("credential", name)], index) }
    }
    text.begin("bearerd_credential_available", .gauge, "Whether there is a secret to send.")
    each { text.sample($0, counts.credentials[$1].isAvailable ? 1 : 0) }
    text.begin("bearerd_credential_generation", .gauge, "How many-th value since the start.")
    each { text.sample($0, keyring.generation(ofGrant: $1)) }
    text.begin(
      "bearerd_credential_changed_timestamp_seconds", .gauge, "When the value last changed, or was first read.")
    each { labels, index in
      let changed = keyring.changedAt(ofGrant: index)
      if changed > 0 { text.sample(labels, UInt64(changed)) }
    }
    text.begin(
      "bearerd_credential_accepted_total", .counter, "Answers to requests with the credential, but for 401 and 407.")
    each { text.sample($0, counts.credentials[$1].accepted.count) }
    text.begin("bearerd_credential_rejected_total", .counter, "Answers 401 and 407 to requests with the credential.")
    each { text.sample($0, counts.credentials[$1].rejected.count) }
    tokens(names)
    suspensions()
  }

  private mutating func tokens(_ names: [String]) {
    let all = names.indices.compactMap { index in
      worker.providers.tokens?.standing(ofGrant: index).map { (labels: [("credential", names[index])], standing: $0) }
    }
    if all.isEmpty { return }
    text.begin("bearerd_token_requests_total", .counter, "Requests to token endpoints that have come to their end.")
    for (labels, standing) in all {
      text.sample(labels + [("result", "granted")], standing.granted)
      text.sample(labels + [("result", "failed")], standing.failed)
    }
    text.begin("bearerd_token_usable_seconds", .gauge, "For how long requests go out with the token that there is.")
    for (labels, standing) in all {
      if let seconds = standing.secondsLeft { text.sample(labels, seconds) }
    }
    text.begin("bearerd_login_required", .gauge, "Whether somebody has to log in anew.")
    for (labels, standing) in all { text.sample(labels, standing.isLoginRequired ? 1 : 0) }
  }

  private mutating func suspensions() {
    let breakers = generation.limits.breakers.map { breaker in
      (labels: [("credential", breaker.credential), ("upstream", breaker.origin.description)], breaker: breaker)
    }
    text.begin(
      "bearerd_credential_suspended", .gauge,
      "Whether the credential is held back from an upstream that keeps rejecting it.")
    for (labels, breaker) in breakers {
      let index = generation.snapshot.rules.grants.firstIndex { $0.name == breaker.credential }
      let isHeld = index.map { breaker.holdsBack(breaker.value(in: generation.keyring, ofGrant: $0)) } ?? false
      text.sample(labels, isHeld ? 1 : 0)
    }
    text.begin("bearerd_credential_suspensions_total", .counter, "How often it came to that.")
    for (labels, breaker) in breakers { text.sample(labels, breaker.state.suspensions) }
  }

  private mutating func configuration() {
    let lifetime = worker.lifetime
    text.begin("bearerd_build_info", .gauge, "The version that runs.")
    text.sample([("version", ProgramVersion.text)], 1)
    text.begin("bearerd_configuration_generation", .gauge, "How many-th configuration since the start.")
    text.sample(generation.snapshot.generation)
    text.begin("bearerd_configuration_loaded_timestamp_seconds", .gauge, "Since when it is in use.")
    text.sample(UInt64(max(0, lifetime.loadedAt)))
    text.begin("bearerd_configuration_last_reload_successful", .gauge, "Whether the last attempt to reload went well.")
    text.sample(lifetime.lastReload?.problem == nil ? 1 : 0)
    text.begin("bearerd_log_lines_dropped_total", .counter, "Lines for which the log had no room.")
    text.sample(counts.droppedLines)
    audit()
  }

  private mutating func audit() {
    guard let status = worker.log.audit?.status else { return }
    text.begin("bearerd_audit_records", .gauge, "The number of the last record in the audit file.")
    text.sample(status.count)
    text.begin("bearerd_audit_records_dropped_total", .counter, "Records for which there was no room.")
    text.sample(status.dropped)
    text.begin("bearerd_audit_working", .gauge, "Whether the last write to the audit file went well.")
    text.sample(status.problem == nil ? 1 : 0)
  }

  private mutating func loops() {
    text.begin("bearerd_loop_turns_total", .counter, "Turns of the event loops.")
    text.sample(counts.loops.reduce(0) { $0 &+ $1.turns })
    text.begin("bearerd_loop_stalls_total", .counter, "Turns that took 100 milliseconds or more.")
    text.sample(counts.loops.reduce(0) { $0 &+ $1.stalls })
    text.begin("bearerd_loop_longest_turn_seconds", .gauge, "The longest turn since the start.")
    text.sample(microseconds: counts.loops.map(\.longestTurn).max() ?? 0)
    text.begin(
      "bearerd_oldest_waiting_request_seconds", .gauge, "For how long the oldest request waits for its answer to begin."
    )
    text.sample(microseconds: (counts.loops.compactMap(\.oldestRequest).max() ?? 0) &* 1_000)
  }

  private mutating func process() {
    let vitals = ProcessVitals()
    text.begin("process_resident_memory_bytes", .gauge, "Resident memory.")
    text.sample(vitals.residentBytes)
    text.begin("process_open_fds", .gauge, "Open file descriptors.")
    text.sample(vitals.openDescriptors)
    text.begin("process_max_fds", .gauge, "The most file descriptors that may be open.")
    text.sample(vitals.descriptorLimit)
    text.begin("process_cpu_seconds_total", .counter, "User and system time.")
    text.sample(microseconds: vitals.processorMicroseconds)
    text.begin("process_start_time_seconds", .gauge, "When the process began, since 1970.")
    text.sample(UInt64(max(0, worker.lifetime.startedAt)))
  }
}

extension RefusalCode {
  /// Whether it shows before it has happened, too, so that the first one can be seen as a change: with a service, or without.
  fileprivate func isOrdinary(placed: Bool) -> Bool {
    switch refuser {
    case .parser, .admission: !placed
    case .rules, .bearerd: true
    case .keyring, .connector, .answer: placed
    }
  }
}
