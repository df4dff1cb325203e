internal import Console
internal import StatusModel
/// One screen of `bearerctl status --watch`, in lines that fit the terminal.
struct WatchView {
  let history: WatchHistory
  /// The error of the last status request; `nil` if it succeeded.
  let problem: String?
  let terminal: Terminal

  func lines(_ size: (columns: Int, lines: Int)) -> [String] {
    guard let status = history.last else { return [] }
    let width = size.columns
    let sections = [services(status, width), credentials(status), pools(status), refusals(status)]
      .filter { !$0.rows.isEmpty }
    var lines = [StyledLine(head(status), .bold)]
    lines.append(problem.map { StyledLine($0.harmless, .bad) } ?? StyledLine(configuration(status), .plain))
    if let audit = status.audit { lines.append(line(audit)) }
    var room = size.lines - lines.count - 1
    for (index, section) in sections.enumerated() {
      // Reserves a blank line, a heading and two rows for each later section, but leaves this section half of the room
      // or eight lines, whichever is less.
      let reserved = min((sections.count - index - 1) * 4, max(room / 2, room - 8))
      let part = section.lines(atMost: room - reserved)
      lines += part
      room -= part.count
    }
    lines += Array(repeating: StyledLine("", .plain), count: max(0, room))
    lines.append(StyledLine("q: quit", .dim))
    return lines.prefix(size.lines).map { $0.rendered(width: width, terminal) }
  }

  private func head(_ status: DaemonStatus) -> String {
    "bearerd \(status.version.harmless)   up \(Age(status.now - status.started))"
      + "   \(counted(status.connections, "connection"))   \(sizeText(status.process.residentBytes))"
      + "   \(counted(status.process.openFiles, "open file"))"
  }

  private func configuration(_ status: DaemonStatus) -> String {
    let configuration = status.configuration
    return
      "generation \(configuration.generation), in use for \(Age(status.now - configuration.loaded)), \(configuration.file.harmless)"
      + (configuration.lastReload?.problem == nil ? "" : " (the last reload failed)")
  }

  private func line(_ audit: DaemonStatus.Audit) -> StyledLine {
    var line = StyledLine("audit \(counted(audit.records, "record"))", .plain)
    if audit.dropped > 0 { line.append(", \(audit.dropped) lost", .bad) }
    if let problem = audit.problem ?? audit.refusing {
      line.append(audit.refusing == nil ? ", cannot be written" : ", cannot be written, requests get 503", .bad)
      line.append(": \(problem.harmless)", .bad)
    } else {
      line.append(", in \(audit.file.harmless)", .plain)
    }
    return line
  }

  private func services(_ status: DaemonStatus, _ width: Int) -> Section {
    let nameWidth = min(max(7, status.services.map(\.name.count).max() ?? 0), max(7, width / 4))
    let figures = 34
    let spark = width - nameWidth - figures - 2
    let blank = spark >= 4 ? String(repeating: " ", count: spark + 2) : ""
    let heading = "service".padded(to: nameWidth) + blank + "   req/s      p50      p99 refused"
    let rows = status.services.map { service in
      let rates = history.rates(of: service.name)
      var line = StyledLine(String(service.name.harmless.prefix(nameWidth)).padded(to: nameWidth), .bold)
      if spark >= 4 { line.append("  " + Sparkline.text(rates, width: spark), .good) }
      line.append((rates.last.map { rate($0) } ?? "-").aligned(8), .plain)
      line.append(time(history.quantile(0.5, of: service.name)).aligned(9), .plain)
      line.append(time(history.quantile(0.99, of: service.name)).aligned(9), .plain)
      line.append(String(service.refusals).aligned(8), service.refusals > 0 ? .bad : .plain)
      return line
    }
    return Section(heading: heading, rows: rows)
  }

  private func credentials(_ status: DaemonStatus) -> Section {
    let width = max(10, status.credentials.map(\.name.count).max() ?? 0)
    let rows = status.credentials.map { credential in
      var line = StyledLine(credential.name.harmless.padded(to: width), .bold)
      guard credential.available else {
        line.append("  missing: " + (credential.problem ?? "").harmless, .bad)
        return line
      }
      line.append("  \(credential.fingerprint ?? "-")  generation \(credential.generation)", .plain)
      line.append(credential.changed.map { "  for \(Age(status.now - $0))" } ?? "", .plain)
      if let time = credential.lastAccepted { line.append("  accepted \(Age(status.now - time)) ago", .good) }
      if let time = credential.lastRejected { line.append("  rejected \(Age(status.now - time)) ago", .bad) }
      if !credential.suspended.isEmpty { line.append("  suspended", .bad) }
      if let problem = credential.problem { line.append("  \(problem.harmless)", .bad) }
      return line
    }
    return Section(heading: "credential", rows: rows)
  }

  private func pools(_ status: DaemonStatus) -> Section {
    let width = status.pools.map(\.upstream.count).max() ?? 0
    let rows = status.pools.map { pool in
      StyledLine(
        pool.upstream.harmless.padded(to: width)
          + "  \(pool.versionText.harmless.padded(to: 8))  \(String(pool.idle).aligned(4)) idle  \(String(pool.active).aligned(4)) active"
          + (pool.streams.map { "  \(String($0).aligned(4)) streams" } ?? "")
          + (pool.credential.isEmpty ? "" : "  \(pool.credential.harmless)"), .plain)
    }
    return Section(heading: "upstream", rows: rows)
  }

  private func refusals(_ status: DaemonStatus) -> Section {
    let rows = status.recentRefusals.map { refusal in
      var line = StyledLine("\(Age(status.now - refusal.at)) ago".padded(to: 15), .plain)
      line.append("  " + (refusal.service ?? "no service").harmless.padded(to: 12) + "  ", .plain)
      line.append("bearerctl errors ", .dim)
      line.append(refusal.code.harmless, .bad)
      return line
    }
    return Section(heading: "refused", rows: rows)
  }

  private func rate(_ number: Double) -> String { number < 10 ? number.rounded(to: 1) : number.rounded(to: 0) }

  private func time(_ microseconds: Double?) -> String {
    guard let microseconds else { return "-" }
    if microseconds < 10_000 { return (microseconds / 1_000).rounded(to: 1) + " ms" }
    return microseconds < 1_000_000
      ? (microseconds / 1_000).rounded(to: 0) + " ms" : (microseconds / 1_000_000).rounded(to: 1) + " s"
  }
}

private struct Section {
  let heading: String
  let rows: [StyledLine]

  /// Returns a blank line, the heading and the rows, cut off at `limit` lines.
  func lines(atMost limit: Int) -> [StyledLine] {
    guard limit >= 3 else { return [] }
    let most = limit - 2
    var shown = Array(rows.prefix(most))
    if rows.count > most, most > 1 { shown[most - 1] = StyledLine("… \(rows.count - most + 1) more", .dim) }
    return [StyledLine("", .plain), StyledLine(heading, .dim)] + shown
  }
}

extension Double {
  /// Returns the number with 0 or 1 decimals.
  fileprivate func rounded(to decimals: Int) -> String {
    guard decimals > 0 else { return String(Int(self.rounded())) }
    let tenths = Int((self * 10).rounded())
    return "\(tenths / 10).\(tenths % 10)"
  }
}

extension String {
  fileprivate func aligned(_ width: Int) -> String { String(repeating: " ", count: max(0, width - count)) + self }
}
