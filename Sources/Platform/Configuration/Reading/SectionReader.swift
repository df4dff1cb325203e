internal import Policy

/// What all readers and checks of a configuration share.
struct ReadingContext {
  let report: Report
  let environment: ConfigurationReader.Environment
  let namedFiles = NamedFiles()
  var pinPolicies = PinPolicies()
}

/// Reads or checks a section of a configuration, and adds errors to `report`.
protocol SectionReader {
  var context: ReadingContext { get }
}

extension SectionReader {
  var report: Report { context.report }
  var environment: ConfigurationReader.Environment { context.environment }
}
