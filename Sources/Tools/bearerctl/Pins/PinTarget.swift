internal import Configuration
internal import Console
internal import Policy
internal import Settings
internal import System

/// What the argument of `bearerctl pin` names.
enum PinTarget {
  case standardInput
  case file
  /// `remark` says why a text that could name a service is a host; `nil` if it cannot.
  case host(Upstream, remark: String?)
  /// A service of the configuration `file`.
  case service(Service, file: String)

  /// - Parameters:
  ///   - config: The configuration with the service; `nil` for the default, if it exists.
  ///   - allowsService: Whether the text may name a service of the default configuration.
  init(_ text: String, config: String?, allowsService: Bool) throws {
    if let config {
      let loaded = try LoadedConfiguration(config)
      self = .service(try loaded.service(named: text), file: loaded.file)
      return
    }
    if text == "-" {
      self = .standardInput
      return
    }
    let isURL = text.hasPrefix("https://")
    if !isURL, Self.looksLikeFile(text) || FileStatus(path: text)?.isRegular == true {
      self = .file
      return
    }
    var remark: String?
    if allowsService, !text.contains(where: { ".:/".contains($0) }) {
      switch Self.service(text) {
      case .success(let found):
        self = .service(found.service, file: found.file)
        return
      case .failure(let reason): remark = reason.text
      }
    }
    do throws(PolicySyntaxError) {
      let origin = isURL ? try Upstream(parsing: text).origin : try Origin(parsing: "https://\(text)")
      self = .host(Upstream(origin, allowedAddresses: []), remark: remark)
    } catch {
      throw Failure(Failure.usage, "\(text.harmless) is neither a host nor a file that exists: \(error.message)")
    }
  }

  /// Whether the text can only be a file.
  private static func looksLikeFile(_ text: String) -> Bool {
    let name = text.lowercased()
    return name.contains("/") || [".pem", ".crt", ".cer", ".der", ".csr", ".key"].contains { name.hasSuffix($0) }
  }

  private struct NoService: Error {
    let text: String
  }

  /// Returns the service of the default configuration with this name.
  private static func service(_ name: String) -> Result<(service: Service, file: String), NoService> {
    let file = LoadedConfiguration.usualFile
    guard FileStatus(path: file) != nil else {
      return .failure(NoService(text: "\(name) was taken as a host, because there is no configuration \(file)"))
    }
    guard let loaded = try? LoadedConfiguration(loading: absolute(file)) else {
      let reason = "\(file) cannot be used. \"bearerctl check\" shows why"
      return .failure(NoService(text: "\(name) was taken as a host, because \(reason)"))
    }
    guard let service = loaded.settings.rules.services.first(where: { $0.name == name }) else {
      return .failure(NoService(text: "\(name) was taken as a host, because \(file) has no service of this name"))
    }
    return .success((service, file))
  }
}

extension LoadedConfiguration {
  /// Returns the service with this name. Throws `Failure` if there is none.
  func service(named name: String) throws(Failure) -> Service {
    let services = settings.rules.services
    if let service = services.first(where: { $0.name == name }) { return service }
    let names = services.map(\.name)
    let known = names.isEmpty ? "It has no services" : "Its services are \(names.joined(separator: ", "))"
    let guess = Suggestion.nearest(to: name, in: names).map { "Did you mean \"\($0)\"?" } ?? known
    throw Failure(Failure.usage, "\(file) has no service \(name.harmless). \(guess)")
  }
}
