@_spi(SecretBytes) import Credentials
import OAuth
import Policy
