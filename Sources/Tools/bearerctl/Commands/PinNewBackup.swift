internal import ArgumentParser
internal import Console
internal import Crypto
internal import Glibc
internal import Policy
internal import System

struct PinNewBackup: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "new-backup",
    abstract: "Create a backup key, and print its pin.",
    usage: "bearerctl pin new-backup FILE",
    discussion: """
      Creates an EC key on P-256 (prime256v1), and writes it to a new file in PEM (PKCS #8). The file is not encrypted. Only \
      you can read it. An existing file is never changed.

        bearerctl pin new-backup backup.key

      Add the pin to the service now, and store the file offline. When the server needs a new key, request a certificate \
      for this key. Its pin is then already in the configuration.

      Exits with 1 if the file exists, and with 71 if it cannot be written.
      """)

  @Argument(help: "The new file.", completion: .file())
  var file: String

  func run() throws {
    do {
      let key = try PrivateKey.newP256()
      guard let pin = key.pin, try write(key) else { throw Failure(Failure.system, "OpenSSL cannot write the key") }
      StandardOutput.print(
        """
        \(file.harmless): new private key, EC prime256v1, not encrypted

           pin          \(Terminal.output.bold(pin.description))

        Add this pin to the service, after the pin of the key in use:

            pins: [sha256/…, \(pin)]

        Store the file offline. When the server needs a new key, request its certificate with:

            openssl req -new -key \(file.harmless) -subj /CN=HOST -out new.csr

        """)
    } catch let error as PrivateKey.Problem {
      throw Failure(Failure.system, "the private key \(error.words)")
    } catch let error as SystemError {
      guard error.errno == EEXIST else {
        throw Failure(Failure.system, "\(file.harmless) cannot be written: \(error)")
      }
      throw Failure(
        Failure.no, "\(file.harmless) already exists and was not changed. Choose another name for the new key")
    }
  }

  /// Writes the key to the file. Returns `false` if OpenSSL fails.
  private func write(_ key: borrowing PrivateKey) throws(SystemError) -> Bool {
    let path = absolute(file)
    let written: Void? = try key.withPEM { (pem) throws(SystemError) in
      try NewFile.create(path, pem, mode: 0o600)
    }
    return written != nil
  }
}
