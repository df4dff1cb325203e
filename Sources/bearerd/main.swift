print("bearerd")
